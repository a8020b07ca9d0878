# privacy: English training sentences: templates of ours filled with made-up people, addresses, organisations and places, and much text without any.
# Output: one text a line, "\n" as \x03, entities between \x01 + one letter (p person, o organisation, c place, a address) and \x02.
import random
import re
import sys

from people import KNOWN_ORGS, People

# P any form of a full name, Q first and last name, F first name, L last name, A address, S street alone, O organisation, C place, N country.
# Lower-case slots are words without a mark: d date, t time, n number, m money, e e-mail, h phone, w ordinary word, b brand, j job, k weekday, x month, y nationality, v library, r work of art.
TEMPLATES = """
Please email {P} about the {w}.
Please email {Q} at {e} about the invoice.
Can you ask {F} to send me the {w}?
I met {P} in {C} last {k}.
I spoke to {Q} from {O} on {k}.
{Q} works as a {j} at {O}.
{P}, {j} at {O}, said that the {w} was ready.
{Q} said on {k} that {F} would join.
"{w} is fine," said {L}.
"I agree," {F} replied.
According to {Q}, the {w} costs {m}.
Mr. {L} will see you now.
Mrs {L} and Mr {L} arrived at {t}.
Ms. {P} has confirmed the {w}.
Dr. {L} prescribed {w} on {d}.
Dr {Q} from {O} called.
Prof. {P} teaches {w} at {O}.
My name is {P} and I live in {C}.
my name is {P}, I need help with my {w}
Hi, I'm {F}, nice to meet you
I am {Q} and I am calling about order {n}.
This is {F} from {O}, is {F} there?
Hi {F},
Hello {F}, how are you?
Hey {F}! Are you coming on {k}?
Dear {F},
Dear Mr. {L},
Dear {P},
Dear {F} and {F},
Hi {F}, it was great to see you in {C}. Best, {F}
Thanks, {F}
Thank you {F}!
Best regards,~{P}
Kind regards,~{Q}~{j}~{O}
Sincerely,~{P}
Cheers,~{F}
Yours faithfully,~{Q}~{A}
Love, {F}
Sent from my {b}~{F}
-- ~{Q}~{j}, {O}~{h}~{e}
From: {Q} <{e}>~To: {Q} <{e}>~Subject: {w} {w}~~Hi {F},~~can you review the {w} by {k}?~~Thanks,~{F}
On {d}, {Q} wrote:~> {w} {w} {w}
From: {P}~Sent: {d}~To: {P}~Cc: {P}; {P}~Subject: RE: {b}
Name: {P}
Full name: {P}~Date of birth: {d}~Address: {A}
Name: {P}~Address: {A}~Phone: {h}
NAME: {P}~ADDRESS: {A}
Customer: {P}
Customer name: {P}, order {n}
Patient: {P}~Diagnosis: {w}
Patient name: {P}~DOB: {d}~MRN: {n}
Applicant: {P}~Employer: {O}~Occupation: {j}
First name: {F}~Last name: {L}
Surname: {L}~Given name: {F}
Contact: {P} ({h})
Contact person: {Q}, {j}
Emergency contact: {Q}, {h}
Attn: {P}
ATTN {Q}~{A}
Ship to: {Q}, {A}
Ship to:~{Q}~{A}
Billing address: {A}
Deliver it to {A} please.
My address is {A}.
I live at {A}.
i live at {A}
We moved from {A} to {A} in {x}.
The office is located at {A}.
{O} is based in {C}, {N}.
Our new store at {S} opens on {k}.
Meet me at {S} in {C}.
The house on {S} was sold for {m}.
She lives at {S}, {C}.
How do I get to {A}?
What is the fastest way from {C} to {C}?
Send the package to {Q}, {A}.
{Q}~{A}
{Q}~{O}~{A}
Return address: {Q}, {A}
Signed: {P}
Signed by {P} on {d}
Signature: {P}
Prepared by: {P}
Reviewed by {Q}
Author: {P}
Assignee: {Q}
Reporter: {Q}~Assignee: {Q}~Priority: High
@{F} can you look at this?
{F}: are you there?~{F}: yes~{F}: ok
{F}: hi {F}~{F}: hello, did {F} call?
[{t}] {F}: {w} {w} {w}
[{t}] <{F}> i think {F} has it
{Q}: I disagree.~{Q}: Why?
Agent: Thank you for calling {O}, this is {F}.~Customer: Hi, my name is {Q}.~Agent: Thanks {F}. Can I have your address?~Customer: {A}
Interviewer: {Q}~Candidate: {Q}
| Name | City | Amount |~|---|---|---|~| {Q} | {C} | {m} |~| {Q} | {C} | {m} |~| {Q} | {C} | {m} |
| {Q} | {e} | {n} |
| {n} | {P} | {d} | active |
id,name,email,city~{n},{Q},{e},{C}~{n},{Q},{e},{C}
{n},{Q},{d},{m}
{L},{F},{e},{h}
first,last,phone~{F},{L},{h}~{F},{L},{h}
{n};{Q};{C};{m}
{n}	{Q}	{C}	{d}
{"name": "{Q}", "age": {n}, "city": "{C}"}
{"first_name": "{F}", "last_name": "{L}", "email": "{e}"}
{"customer": {"fullName": "{Q}", "address": "{A}"}}
"patient": "{Q}",
name = "{Q}"
user: {Q}
- {Q}~- {Q}~- {Q}
1. {Q}~2. {Q}~3. {Q}
* {Q} ({O})~* {Q} ({O})
Attendees: {Q}, {Q}, {Q} and {Q}
Participants: {F}, {F}, {F}
Present: {P}; {P}; {P}
Team: {F}, {F} and {F}
{F} and {F} are getting married in {x}.
{F}'s {w} is broken.
{Q}'s {w} was stolen.
I gave {F}'s {w} to {F}.
{L}'s theory of {w} was wrong.
My wife {F} has {w}.
My husband, {Q}, was born in {C}.
my brother {F} lives in {C}
Her daughter {F} is {n} years old.
Our neighbour {P} has a {w}.
My boss {F} {L} wants the {w} by {k}.
Your colleague {Q} booked the {w}.
{F}, can you call me at {h}?
Tell {F} I said hi.
Ask {F} or {F}.
Call {F} at {h}.
call {F} tomorrow about the {w}
did {F} send the {w} yet?
{F} told me that {F} is leaving {O}.
is {F} coming to the {w} tonight
{Q} was born on {d} in {C}, {N}.
{Q} (born {d}) is a {y} {j}.
{P} was a {y} {j} and {j}.
{Q} graduated from {O} in {n}.
{Q} married {Q} in {C}.
{Q} and {her} husband {F} moved to {C}.
The late {Q} left the {w} to {F}.
President {L} met Chancellor {L} in {C}.
Senator {Q} voted against the {w}.
Judge {L} ruled for {O}.
Captain {L} took over.
Officer {L} stopped a {w} near {S}.
Sir {Q} was there.
{O} hired {Q} as {j}.
{O} CEO {Q} resigned on {k}.
{Q} Resigns as {j} of {O}
{Q} TO LEAVE {O}
{Q}, {n}, of {C}, was charged on {k}.
The contract between {O} and {Q} ends in {x}.
The tenant, {P}, shall pay {m} per month for the flat at {A}.
This agreement is made between {P} ("Seller") and {P} ("Buyer").
IN WITNESS WHEREOF {P} signed on {d}.
Plaintiff {P} v. {P}
{L} v. {L}
{L} et al. ({n}) showed that {w} is {w}.
See {L} and {L} ({n}).
The {L} family owns a {w}.
Meeting with {F} {L} re: {w}
Lunch with {F} on {k} at {t}
Interview {Q} - {j}
RSVP to {F} by {d}
Happy birthday {F}!
Congratulations to {Q} for the {w}.
Welcome {F}, our new {j}!
The patient, {P}, complains of {w}.
Patient {P} was seen on {d}.
{P} was diagnosed with {w}.
Pt {L} has a history of {w}.
{F} takes {w} for her {w}.
Student {Q} got {n} points.
Employee {P} ({n}) requested leave from {d} to {d}.
Account holder {P}
Beneficiary: {P}, {O}
Payee {P}, amount {m}
Transfer {m} to {Q}, IBAN below.
Passenger {P} - flight to {C}
Guest: {P}, room {n}
Reservation under {L} for {n} people
Booking for {P}, {d}
Invoice {n} for {P}, {A}
User {Q} logged in from {C}.
INFO user={Q} action=login
ticket {n}: {Q} cannot log in
I forwarded your note to {Q} ({e}).
cc {F}, {F} and {Q}
{Q} <{e}>
"{Q}" <{e}>
Owner: {Q}
Maintainer: {Q} <{e}>
Signed-off-by: {Q} <{e}>
Reviewed-by: {Q}
/* Written by {Q}, {n} */
# Author: {Q} <{e}>
# TODO({F}): fix the {w}
// contact {Q} if this breaks
Copyright (c) {n} {Q}
The winner is {Q}!
I think {L} is a better {j} than {L}.
We invited {Q}, {Q} ({O}) and {Q}.
{Q} from {C} scored twice against {O}.
Has anyone seen {F}?
Who is {Q}?
Where does {Q} live?
Write a letter to {Q} at {A} about the {w}.
Write a recommendation for my student {Q}, who studies {w} at {O}.
Summarise the following: {Q} met {Q} in {C} to discuss {w}.
Translate: My friend {F} lives at {S}.
Rewrite this email to {F}: your {w} is late.
Reminder for {F}: pay {L} {m}.
The {w} belongs to {P}.
{P}~{h}~{e}
{P} | {h} | {e}
{P}, {d}, {C}
{P} - {j} - {O}
Mr {L}, {A}, {h}
Hi, I want to change my address to {A}. {F}
please update my address: {A}
Can you deliver to {A}, {N}?
{O}, {A}
Head office: {A}
Visit us at {A} or call {h}.
{A}, tel. {h}
The accident happened at {S} near the {w}.
I grew up in {C} and moved to {C} in {n}.
Weather in {C} on {k}
flights from {C} to {C} in {x}
{C}, {d} - {O} said on {k} that {w} {w} {w}.
{O} announced {w} in {N}.
{N} and {N} signed a {w} in {C}.
i told {F} that the {w} is {w}, {F} agreed
yo {F} u up?
ok {F} see you at {t}
thanks {F}, will do
lol {F} is so {w}
my friend {F} from {C} loves {b}
hey its {F}, can u call {F} for me
im {F} btw
i'm {Q}, {n} years old, from {C}
sup {F}
WHERE IS {F}
DEAR {P},
PATIENT: {P}
MR {L} CALLED AT {t}
LETTER FROM {Q} TO {Q}
SHIP TO {Q} {A}
My full name is {P}, born {d}.
The name on the card is {P}.
name on the account is {P}
Please change the name from {P} to {P}.
You can reach {F} {L} at {e} or {h}.
For questions, contact {Q}.
Please contact {P} or {P}.
{F} will be out of office; {F} {L} is covering.
{Q} has been assigned to ticket {n}.
Thanks to {Q} and {Q} for the {w}.
{F}, {F} & {F}
Mr. and Mrs. {L}
The {L}s are coming for dinner.
Uncle {F} and Aunt {F} sent a {w}.
Grandma {F} baked {w}.
Coach {L} said the team was {w}.
Nurse {F} took my {w}.
St. {F} Street
{F} began to {w} when {F} left.
{L} wrote {r} in {n}.
{F} is a {j}.
{F} was {w} and {F} was not.
{F} has a {w} in {C}.
{F} works at {O}.
{F} went to {C} to {w} the {w}.
{F} never {w} the {w}.
{F} and {L} were {w}.
{F}, {j}, {n}
{F}: "{W} {w} {w}."~{F}: "{W}!"
{F}: "{W} {w}?"~{F}: {W} {w}.
"{W} {w}," {F} said. "{W} {w}?"
{W} {w} {w}, {F}?
{W} {w}, {F}!
{W} me, {F}. {W} the {w}.
{F}? {W} {w}?
No, {F} did not {w} it.
the {L} {w} was {w}
an early {L} {w}
{y} {j} {Q} {w} the {w}.
{L}, {L} and {L} wrote the {w}.
{P}~~{A}
{O}~{A}~{h}
Address: {A}~~{h}
* {A}~* {A}
   {A}
Did {L} approve the {w}? I asked {F} {L} twice.
Photo: {Q}/{O}
By {Q}
By {Q}, {O}
Story by {Q} and {Q}
Starring {Q} and {Q}, directed by {Q}
{Q} as {F}, {Q} as {F} {L}
""".strip().split("\n")

# Never seen in training.
HELD = """
Could {P} join our call about the {w} on {k}?
{Q} asked whether {F} had signed the {w}.
Kindly forward this to {P}, our {j} in {C}.
The keys are with {F}; {F} has a copy.
Mr {L} asked for the {w} on {d}.
Regards,~{Q}~{O}
Employee name: {P}~Manager: {Q}
Recipient: {P}, {A}
I used to live at {A} before {x}.
Our address changed to {A}.
{"employee": {"name": "{Q}", "office": "{C}"}}
| {n} | {Q} | {m} |
{Q},{C},{n}
{F}: did you see it?~{F}: not yet
my sister {F} and her friend {F} went to {C}
Dr. {P} performed the {w} at {O}.
{P} owes {P} {m}.
i am meeting {F} at {S} tonight
{Q} ({n}) from {C} won the {w}.
Please welcome {Q}, who joins {O} as {j}.
The package for {Q} went to {A} by mistake.
He is called {Q}.
I, {P}, declare that the {w} is mine.
Notes from {k}: {F} to call {L}; {F} to fix the {w}.
""".strip().split("\n")

# Without people or addresses.
NEGATIVES = """
The {w} is {w} and the {w} was {w}.
How do I install {v} on {b}?
What is the difference between {v} and {v}?
I bought a new {b} in {x}.
{k} is the day of the {w}.
In {x} we will {w} the {w}.
See you in {x}!
The {y} {w} is {w}.
Do you speak {y}?
I love {y} food.
{r} is my favourite {w}.
Have you read {r}?
We watched {r} on {k}.
Introduction To {W} {W}
{W} {W} And The {W} Of {W}
## {W} {W}
# {W} And {W}
{W}: {w} {w} {w}
{W} {W}~{w} {w} {w} {w}.
1. {W} the {w}.~2. {W} the {w}.~3. {W} the {w}.
- {W} {w}~- {W} {w} {w}
* {W} {w} {w}.
NOTE: {w} {w} {w}
WARNING: THE {w} IS {w}
TODO: {w} the {w}
Error: {W} not found in {i}
{t} INFO {i} started
{t} ERROR [{i}] {W} failed: {w}
[{d} {t}] {i}: {w} {w}
{t} {b} kernel: {w} {n}
commit {x}{n}~    {W} the {w} in {i}
* {n} {W} {w} {w} ({v})
{W} {w} {w} (#{n})
Merge branch '{w}' into {w}
Fix {w} in {v} {n}
Bump {v} from {n} to {n}
Add {v} support for {b}
import {i}
from {i} import {I}
class {I}({I}):
def {i}(self, {i}):
    return {I}({i}, {i})
const {i} = new {I}({i});
if ({i} == {I}::{i}) return {n};
#include <{i}.h>
std::vector<{I}> {i};
struct {I} { int {i}; };
/// {W} the {w} of a {I}.
// {W} {w} {w}
/* {W}s the {w}. */
public static {I} {i}({I} {i}) {
{i}: {n}
{I}.{i} = {n}
"{i}": "{w}",
SELECT {i} FROM {i} WHERE {i} = {n};
Usage: {i} [OPTION]... FILE
The {I} class {w}s the {w}.
Call {I}.{i}() to {w} the {w}.
{I} is a {w} of {I}.
The {b} {w} supports {v} and {v}.
{b} announced the {b} {n} on {k}.
{b} vs {b}
We use {v}, {v} and {v} at work.
Permission is hereby granted, free of charge, to any person obtaining a copy of this {w}.
The {W} Agreement shall be governed by the laws of the State of New York.
This License and the {W} of the {W} apply to the Licensed Material.
Redistribution and use in source and binary forms are permitted.
THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND
The Licensor {w} You a {w} {w} under {W} {W}.
You may {w} the Work and Derivative Works.
"{W} {W}" means the {w} of the {w}.
Section {n}. {W} {W} {W}
Chapter {n}: The {W} of {W}
Table {n}: {W} {w} by {w}
Figure {n} shows the {w} of {w}.
Happy New Year! Merry Christmas!
Happy Easter and Happy Thanksgiving
The {W} World Cup takes place in {x}.
World War II ended in {n}.
The Second World War and the Cold War
On Valentine's Day we {w}.
The Renaissance and the Industrial Revolution
The theory of General Relativity is {w}.
Python, Java, Rust and Go are languages.
I use Ruby on Rails with Postgres and Redis.
Open the Settings menu, then click Save As.
Press Ctrl and Enter in the Edit window.
Go to File > Export > {W} {W}
Click the {W} button and choose {W} {W}.
Set {W} {W} to On.
The {W} tab shows {W} {W} and {W}.
Good morning everyone, {w} is {w}.
Hello World!
Hi all,
Hi there, thanks for your {w}.
The Prime Minister arrived in {C}.
The Princess and the {W} {w} {w}.
I am glad to hear that {N} {w} the {w}.
We returned to {C} by {w}.
{N} is {w}. {C} is {w} in {x}.
{C} {w} {w}
{k} {W} {w}
{W}s: {w} instead of {w}
Dear Sir or Madam,
Dear customer,
Dear Hiring Manager,
Dear team,
Thanks everyone!
Best regards
Kind regards,~The {b} Team
Sincerely,~Customer Support
I will be there. Will you? May I ask when?
Mark the {w} as done.
Grant access to the {w}.
Bill the {w} for {m}.
Hope you are well. Grace period ends in {x}.
Rose petals and Violet colours are {w}.
Amber alert was {w}. Crystal clear.
May the {w} be {w}.
Please mark it, then bill them.
Frank discussion about {w}. Chase the {w}.
Summer is {w}, Autumn is {w}.
Monday, Tuesday, Wednesday, Thursday, Friday
January February March April May June July August
{W}, {W} and {W}
Yes. No. Maybe. {W}.
OK. Thanks. Please {w} the {w}.
What is {w}? Why is {w} {w}?
When {w} {w}, the {w} {w}s.
However, the {w} is {w}. Therefore, {w} {w}.
Although {w}, it is {w}. Because of {w}, {w}.
Also Known As: {W}
Frequently Asked Questions
Terms and Conditions~Privacy Policy~Contact Us~About Us
Ingredients: {w}, {w}, {w}~Method: {W} the {w}.
Bake at {n} degrees for {n} minutes. Serve with {w}.
Q: {W} {w}?~A: {W} {w}.
User: {W} {w} {w}~Assistant: {W} {w}.
User: {w} {w}?
System: You are a helpful assistant.
Version {n}.{n} of {v} was released in {x} {n}.
{x} {n}, {n}
{k}, {x} {n}
on {k} {x} {n}
Total: {m}~Subtotal: {m}~Tax: {m}
Order {n} shipped on {d}.
ISBN {n}
RFC {n} defines {W} {W}.
The HTTP API returns JSON with the ID of the {w}.
The CPU and GPU of the {b} are {w}.
USB, HDMI and VGA ports
{A0} and {A0} are {w}
The {A0} of {w} ({A0})
IMPORTANT: READ THE {A0} BEFORE USE
Dijkstra algorithm, Bayes theorem, Fourier transform, Gaussian noise and Markov chains
Newton method, Euler angles, Turing machine, Boolean algebra, Cartesian product
Alzheimer disease, Parkinson disease, Crohn disease, Down syndrome
The Oxford comma, the Cambridge dictionary, the Washington Post
Turn left at the light and go {n} miles.
Take {n} tablets per day.
Run {n} tests in {n} seconds.
The {n} {W} items and {n} {W} boxes
Room {n}, Floor {n}
Page {n} of {n}
Windows {n}, Ubuntu {n}, Debian {n}
version {n} Drive
{n} Way to {W} Your {W}
{n} Best {W} in the World
The {n} Street Food trucks
5 Things to {w} in {x}
Top {n} {W} Court decisions
""".strip().split("\n")

LIBRARIES = "React Angular Vue Django Flask Pandas NumPy TensorFlow PyTorch Kubernetes Docker Jenkins Ansible Terraform Kafka Redis Postgres MySQL MongoDB Elasticsearch Spark Hadoop Gradle Maven Jackson Jersey Spring Hibernate Lombok Mockito Jasmine Karma Ember Backbone Electron Node Deno Bun Webpack Babel Rollup Vite Svelte Next Nuxt Remix Astro Eleventy Hugo Jekyll Sphinx Pydantic Celery Scrapy Selenium Cypress Playwright Puppeteer Boost Qt Eigen OpenCV Catch Bazel Conan Ninja CMake Meson Cargo Tokio Serde Rails Sinatra Capistrano Chef Puppet Salt Vagrant Packer Consul Vault Nomad Grafana Prometheus Loki Jaeger Sentry Apache Nginx Caddy Traefik Envoy Istio Helm Argo Tekton Travis Homer Julia Ruby Perl Ada Haskell Erlang Elixir Clojure Scala Kotlin Swift Dart Pascal Lua Go Rust Python Java JavaScript TypeScript Bash Zsh Vim Emacs Atom Sublime Eclipse IntelliJ Xcode Git Mercurial Subversion Jira Confluence Slack Zoom Teams Outlook Excel Word PowerPoint Photoshop Illustrator Figma Blender Unity Unreal Godot".split()
WORKS = "The Great Gatsby|Harry Potter|Lord of the Rings|Star Wars|The Matrix|Pride and Prejudice|Moby Dick|War and Peace|Game of Thrones|Breaking Bad|The Godfather|Jurassic Park|Titanic|Romeo and Juliet|Hamlet|Don Quixote|Alice in Wonderland|Crime and Punishment|The Old Man and the Sea|To Kill a Mockingbird|Stranger Things|The Crown|Mad Men|Black Mirror|Toy Story|Finding Nemo|The Lion King|Frozen|Bohemian Rhapsody|Yesterday|Let It Be|Hotel California|The Starry Night|Mona Lisa|Jane Eyre|David Copperfield|Emma|Macbeth|Othello|Robinson Crusoe|Forrest Gump|Jerry Maguire|Erin Brockovich|Annie Hall|Billy Elliot".split("|")
JOBS = "engineer manager director nurse teacher lawyer accountant developer designer analyst consultant professor driver chef actor singer author writer journalist editor artist musician coach electrician plumber CEO CTO CFO carpenter baker farmer student dentist surgeon architect pilot Sales Manager|Senior Engineer|Vice President|Head of Marketing|Project Manager|Data Scientist|Account Executive"
JOBS = JOBS.split("|")[0].split()[:-2] + JOBS.split("|")[1:]
NATIONS = "American British French German Italian Spanish Dutch Swedish Polish Greek Turkish Russian Chinese Japanese Korean Vietnamese Thai Indian Pakistani Canadian Mexican Brazilian Australian Nigerian Kenyan Egyptian Irish Scottish Danish Finnish Norwegian Portuguese Christian Muslim Jewish Buddhist Catholic".split()
MONTHS = "January February March April May June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Wed Thu Fri".split()


class English:
    def __init__(self, lists, rng, held):
        self.rng, self.people = rng, People(lists, rng, held)
        ranked = sorted((w for w in lists.probabilities if re.match(r"^[A-Za-z]{2,14}$", w)), key=lambda w: -lists.probabilities[w])[:40000]
        self.words = [w for w in ranked if w.islower() and lists.ordinary(w)][:12000]
        names = {w.lower() for w in lists.census_first + lists.census_last[:20000]} | {w.lower() for k in lists.faker_first for w in lists.faker_first[k] + lists.faker_last[k]}
        places = {n.lower() for n, _, _ in lists.cities}
        known = {p.lower() for n in lists.cities for p in n[0].split()} | {p.lower() for n in lists.countries for p in n.split()}
        self.brands = [w for w in ranked if w[0].isupper() and not w.isupper() and lists.share_lower(w) < 0.35 and w.lower() not in names | places | known][:2500]
        self.acronyms = [w for w in ranked if w.isupper() and 2 <= len(w) <= 5][:800]
        self.templates = HELD if held else TEMPLATES
        self.fill = {"P": ("p", self.people.full), "Q": ("p", self.people.plain_full), "F": ("p", self.people.first), "L": ("p", self.people.last), "A": ("a", self.people.address),
                     "S": ("a", self.people.street), "O": ("o", self.people.organisation), "C": ("c", self.people.place), "N": ("c", lambda: self.rng.choice(self.people.countries))}

    def identifier(self, upper):
        parts = [self.rng.choice(self.words[:4000]) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        if upper:
            return "".join(p.title() for p in parts)
        return self.rng.choice(["_", ""]).join(parts) if self.rng.random() < 0.6 else parts[0] + "".join(p.title() for p in parts[1:])

    def word(self):
        r = self.rng.random()
        if r < 0.6:
            return self.rng.choice(self.words[:3000])
        return self.rng.choice(self.words)

    def plain(self, slot):
        rng = self.rng
        y, mo, da = rng.randint(1930, 2026), rng.randint(1, 12), rng.randint(1, 28)
        if slot == "d":
            return rng.choice([f"{y}-{mo:02}-{da:02}", f"{da:02}/{mo:02}/{y}", f"{mo}/{da}/{y % 100:02}", f"{MONTHS[mo - 1]} {da}, {y}", f"{da} {MONTHS[mo - 1]} {y}", f"{da}.{mo}.{y}", f"{da} {MONTHS[11 + mo - (mo > 5)][:3]}"])
        if slot == "n":
            return rng.choice([str(rng.randint(1, 99)), str(rng.randint(100, 9999)), str(rng.randint(10000, 9999999)), str(rng.randint(1900, 2026))])
        if slot == "m":
            return rng.choice([f"${rng.randint(1, 9999)}", f"€{rng.randint(10, 900)}.{rng.randint(10, 99)}", f"{rng.randint(5, 5000)} dollars", f"£{rng.randint(1, 99)},{rng.randint(100, 999)}"])
        if slot == "e":
            return rng.choice([f"{self.people.first().lower()}.{self.people.last().lower()}@example.com", f"{self.word()}{rng.randint(1, 99)}@mail.example", f"info@{self.word()}.example.org"]).replace(" ", "").replace("'", "")
        if slot == "h":
            return rng.choice([f"555-01{rng.randint(10, 99)}", f"+1 {rng.randint(200, 999)} 555 01{rng.randint(10, 99)}", f"0{rng.randint(20, 99)} {rng.randint(100, 999)} {rng.randint(1000, 9999)}", f"({rng.randint(200, 999)}) 555-0{rng.randint(100, 199)}"])
        if slot == "t":
            return rng.choice([f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}", f"{rng.randint(1, 12)} pm", f"{rng.randint(1, 12)}:{rng.randint(10, 59)} AM", f"{y}-{mo:02}-{da:02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"])
        if slot == "her":
            return rng.choice(["her", "his", "their"])
        table = {"w": self.word, "W": lambda: self.word().title(), "b": lambda: rng.choice(self.brands), "j": lambda: rng.choice(JOBS), "k": lambda: rng.choice(DAYS), "x": lambda: rng.choice(MONTHS), "y": lambda: rng.choice(NATIONS),
                 "v": lambda: rng.choice(LIBRARIES), "r": lambda: rng.choice(WORKS), "i": lambda: self.identifier(False), "I": lambda: self.identifier(True), "A0": lambda: rng.choice(self.acronyms)}
        return table[slot]()

    def render(self, template, case=None):
        def replace(match):
            slot = match.group(1)
            if slot in self.fill:
                mark, make = self.fill[slot]
                value = make()
                if case == "lower":
                    value = value.lower()
                elif case == "upper":
                    value = value.upper()
                return f"\x01{mark}{value}\x02"
            value = self.plain(slot)
            return value.lower() if case == "lower" and slot not in "d" else value.upper() if case == "upper" else value
        text = re.sub(r"\{([A-Za-z]0?|her)\}", replace, template)
        if case == "lower":
            text = re.sub(r"(\x01.)|([A-Z])", lambda m: m.group(1) or m.group(2).lower(), text)
        return text.replace("\x02 \x01p", " ").replace("~", "\x03").replace("\n", "\x03")

    def positive(self):
        template = self.rng.choice(self.templates)
        r = self.rng.random()
        structured = any(c in template for c in '{":|,=~') and not template.startswith(("Hi", "Dear"))
        case = "lower" if r < 0.09 and "A}" not in template else "upper" if 0.09 <= r < 0.12 else None
        return self.render(template, case if not (structured and case == "lower") else None)

    def negative(self):
        case = "upper" if self.rng.random() < 0.04 else None
        return self.render(self.rng.choice(NEGATIVES), case)

    def text(self):
        r = self.rng.random()
        n = 1 if r < 0.45 else self.rng.randint(2, 5)
        parts = [self.positive() if self.rng.random() < 0.62 else self.negative() for _ in range(n)]
        return self.rng.choice([" ", "\x03", "\x03\x03"]).join(parts)


def texts(lists, seed, n, held=False):
    rng = random.Random(seed)
    maker = English(lists, rng, held)
    for _ in range(n):
        yield maker.text()
