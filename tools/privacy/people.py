# privacy: makes up people, addresses, organisations and places for training sentences, from the lists of lists.py and lists of ours.
import random
import re

PINYIN = "wang li zhang liu chen yang zhao huang zhou wu xu sun hu zhu gao lin he guo ma luo liang song zheng xie han tang feng yu dong xiao cheng cao yuan deng fu shen zeng peng lu su jiang cai jia ding wei xue ye yan pan du dai xia zhong tian ren fan fang shi yao tan liao zou xiong jin hao kong bai cui kang mao qiu qin gu hou shao meng long wan duan lei qian yin yi chang wen lai gong".split()
WADE = "Chen Lin Huang Chang Lee Wang Wu Liu Tsai Yang Hsu Cheng Hsieh Kuo Hung Chiu Tseng Liao Lai Chou Yeh Su Chuang Lu Chiang Ho Hsiao Lo Kao Pan Chien Chu Chung Yu Shih Peng Chan Hu Shen Fu Tung Tan Ng Wong Cheung Leung Lam Chow Tang Yip Ngai Kwok Tsang".split()
GIVEN = "ming hua wei fang jun jie lei yan tao juan yong qiang xin yu hao ran zi xuan mei ling ying hong xia ping bo chao dan hui jing lan li na ning qi rui shan ting wen xi ya yi yuan yue zhen zhi ai bin chun feng guang hai jia kai lin min peng qing rong shu tian xiang".split()
WADE_GIVEN = "chih ming hsin yi wei ting chia hao cheng yu jung chun hsuan kuan tzu ling mei hui fang chieh hung jen pei shan shu ya wen yung tse han kai lun ching ying".split()
KOREAN_LAST = "Kim Lee Park Choi Jung Jeong Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Song Ryu Hong Jeon Ko Moon Son Yang Bae Baek Heo Nam Sim Noh".split()
KOREAN = "min jun seo yeon ji woo hyun su jin young ho hee kyung sung dong hye eun soo mi jae won tae yong sang chul ah na ri ye bin yu ra".split()
JAPANESE_LAST = "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi Matsumoto Inoue Kimura Hayashi Shimizu Yamazaki Mori Abe Ikeda Hashimoto Ishikawa Ogawa Okada Hasegawa Fujita Goto Kondo Murakami Endo Aoki Sakamoto Fukuda Ota Nishimura Fujii Okamoto Miura Nakagawa Harada Ono Tamura Takeuchi Kaneko Wada Nakayama Ueda Morita Miyazaki Sakai Kudo Yokoyama Miyamoto Uchida Takagi Ando Shimada Maruyama Masuda Sugiyama Otsuka Chiba Kubo Matsui Nomura Kinoshita".split()
JAPANESE = "Haruto Yuto Sota Yuki Hayato Haruki Ryusei Koki Sora Minato Ren Takumi Kenji Hiroshi Takeshi Satoshi Daisuke Kazuki Akira Makoto Yui Hina Sakura Aoi Rin Mei Mio Yuna Akari Hana Misaki Nanami Emi Keiko Yoko Naoko Tomoko Yumi Ayumi Mariko Kaori Chihiro Asuka Shiori Megumi Noriko Kyoko Haruka".split()
ARABIC = "Mohammed Ahmed Ali Omar Khalid Hassan Hussein Yusuf Ibrahim Abdullah Abdulrahman Faisal Saeed Tariq Karim Mahmoud Mustafa Bilal Hamza Zaid Nasser Rashid Sami Walid Ziad Fatima Aisha Maryam Zainab Layla Noor Amina Huda Salma Rania Yasmin Dina Hanan Samira Nadia Lina Reem Farah Jamila Khadija Sumaya Rashida".split()
ARABIC_LAST = "Haddad Khoury Mansour Nasser Saleh Hamdan Qasim Shahin Darwish Bakri Najjar Sabbagh Aziz Farouk Halabi Masri Shami Othman Rahman Hakim Jaber Khalil Zayed Maktoum Ghamdi Harbi Otaibi Qahtani Shehri Zahrani Tamimi Ansari Sharif Badawi Hashemi".split()
INDIAN = "Aarav Vivaan Aditya Arjun Rohan Rahul Amit Sanjay Vijay Suresh Ramesh Rajesh Anil Sunil Deepak Manish Nikhil Karthik Venkatesh Srinivas Ganesh Harish Priya Anjali Pooja Neha Kavita Sunita Deepa Lakshmi Meera Radha Shreya Divya Swati Nisha Rekha Asha Geeta Ananya Ishita Aishwarya Sneha".split()
INDIAN_LAST = "Sharma Verma Gupta Singh Kumar Patel Shah Mehta Desai Joshi Reddy Rao Naidu Iyer Iyengar Nair Menon Pillai Krishnan Subramaniam Venkataraman Chatterjee Banerjee Mukherjee Das Bose Sen Ghosh Kapoor Malhotra Khanna Chopra Agarwal Bhatt Trivedi Kulkarni Deshpande Patil Jadhav Chauhan Yadav Mishra Tiwari Pandey Srivastava".split()
AFRICAN = "Chinedu Emeka Ngozi Amaka Ifeoma Adaeze Obinna Chioma Olumide Adebayo Folake Yetunde Babatunde Oluwaseun Kwame Kofi Ama Akosua Kojo Yaw Thabo Sipho Nomsa Lerato Themba Zanele Wanjiru Njeri Kamau Otieno Achieng Mwangi Abebe Tesfaye Hana Selam Dawit Yonas Fatou Mamadou Ousmane Aminata Moussa".split()
AFRICAN_LAST = "Okafor Okonkwo Adeyemi Balogun Eze Nwosu Achebe Adichie Obi Mensah Owusu Boateng Asante Appiah Dlamini Nkosi Ndlovu Mokoena Khumalo Zulu Kariuki Njoroge Odhiambo Ochieng Wambui Tadesse Bekele Haile Girma Diop Ndiaye Traore Diallo Keita Toure Camara".split()
VIETNAMESE = ["Nguyễn", "Trần", "Lê", "Phạm", "Hoàng", "Phan", "Vũ", "Đặng", "Bùi", "Đỗ", "Hồ", "Ngô", "Dương", "Nguyen", "Tran", "Le", "Pham", "Hoang", "Vu", "Dang", "Bui", "Do", "Ngo", "Duong"]
VIETNAMESE_GIVEN = ["Văn An", "Thị Hoa", "Minh Anh", "Quang Huy", "Thu Trang", "Van An", "Thi Mai", "Duc Anh", "Hong Nhung", "Thanh Tung", "Ngoc Linh", "Bao Chau", "Tuan", "Hieu", "Phuong"]
SLAVIC = "Ivan Dmitri Dmitry Sergei Sergey Alexei Aleksandr Vladimir Mikhail Nikolai Andrei Pavel Boris Yuri Igor Oleg Olga Natalia Svetlana Irina Tatiana Ekaterina Anastasia Ludmila Galina Vera Nadezhda Oksana Oleksandr Bohdan Taras Volodymyr Yulia Milica Dragana Goran Zoran Bojan Nebojša Jelena Marko Luka".split()
SLAVIC_LAST = "Ivanov Petrov Smirnov Kuznetsov Popov Sokolov Lebedev Kozlov Novikov Morozov Volkov Pavlova Semenova Bogdanov Vorobyov Fedorov Shevchenko Kovalenko Bondarenko Tkachenko Kravchenko Oliynyk Jovanović Petrović Nikolić Marković Đorđević Stojanović Ilić Horvat Kovačević Babić Novak Dimitrov Georgiev Todorov Papadopoulos Georgiou Nikolaidis".split()
PARTICLES = ["van", "van der", "van den", "de", "de la", "von", "del", "da", "dos", "di", "le", "bin", "al-", "ter", "den", "Van", "De", "El", "Al", "St."]
STREET_TAILS = "Street St Avenue Ave Road Rd Boulevard Blvd Lane Ln Drive Dr Way Court Ct Place Pl Terrace Square Close Crescent Parkway Highway Trail Grove Gardens Row Hill Circle".split()
STREET_HEADS = "Main Oak Maple Park Elm Pine Cedar Washington Lake Hill Church High Station Victoria Green Mill School River Market Bridge King Queen North South Spring Forest Meadow Sunset Franklin Jackson Highland Walnut Chestnut Willow Cherry Birch Ash Rose Garden Castle Abbey Manor Kings Queens Albert George York London Windsor Orchard Springfield Broad Water Dogwood Magnolia Hickory Juniper Laurel Poplar Sycamore Cambridge Oxford Lincoln Madison Jefferson Adams Monroe Harrison Grant Cleveland".split()
FOREIGN_STREETS = ["{n} rue {de} {S}", "{n}, rue {de} {S}", "{n} avenue {de} {S}", "{n} boulevard {S}", "{n} bis rue {S}", "{n} place {S}", "{n} impasse {de} {S}", "{n} chemin {de} {S}", "{s}straße {n}", "{s}strasse {n}", "{s}str. {n}", "{s}weg {n}", "{s}platz {n}", "{s}gasse {n}", "{S} Straße {n}", "{S} Allee {n}", "Am {S} {n}", "An der {S} {n}", "Im {S} {n}",
    "Via {S} {n}", "Via {S}, {n}", "Viale {S} {n}", "Piazza {S} {n}", "Corso {S} {n}", "Calle {S} {n}", "Calle {S}, {n}", "C/ {S} {n}", "Avenida {S} {n}", "Av. {S} {n}", "Plaza {S} {n}", "Paseo {S} {n}", "Rua {S}, {n}", "Rua {S} {n}", "Avenida {S}, {n}", "Travessa {S} {n}",
    "{s}straat {n}", "{s}laan {n}", "{s}gracht {n}", "{s}weg {n}", "{s}plein {n}", "{s}gatan {n}", "{s}vägen {n}", "{s}katu {n}", "{s}tie {n}", "{s}vej {n}", "{s}gade {n}", "{s}veien {n}", "{s}gata {n}", "ul. {S} {n}", "ulica {S} {n}", "{S} utca {n}.", "{S} u. {n}", "{S} Caddesi {n}", "{S} Sokak No: {n}", "Strada {S} {n}", "{S} {n}", "Jalan {S} No. {n}", "{n} {S} Nagar", "{n}, {S} Marg", "Plot {n}, {S} Road", "{S}vænget {n}", "{S}allé {n}", "{S}bakken {n}", "{s}hof {n}", "{S} ulice {n}", "{S}ova {n}", "{S}ská {n}/{m}", "Nádražní {n}", "{S}i út {n}."]
COMPANY_TAILS = "Inc Inc. LLC Ltd Ltd. Limited Corp Corp. GmbH AG S.A. SA BV plc PLC Group Holdings Partners Industries Systems Technologies Solutions Labs Bank Insurance Consulting Media Energy Foods Motors Airlines Pharmaceuticals Capital Logistics Foundation & Sons & Co. Associates".split()
COMPANY_STEMS = "Acme Northwind Contoso Globex Initech Umbrella Hooli Vandelay Stark Wayne Cyberdyne Apex Summit Pioneer Horizon Evergreen Bluebird Redwood Silver Golden Pacific Atlantic Northern Southern Alpine Delta Omega Sigma Nova Stellar Quantum Vertex Zenith Fusion Bright Swift Iron Crystal Phoenix Falcon Eagle Lion Harbor Bay Valley Summit Lakeside Riverside Metro Urban Global United National General First Allied Premier Prime".split()
ORG_FORMS = ["University of {c}", "{c} University", "{c} General Hospital", "St. {f}'s Hospital", "{c} City Council", "{c} High School", "{l} Elementary School", "Bank of {c}", "{c} Police Department", "{l} & {l2}", "{l} and {l2} LLP", "{l}, {l2} & {l3}", "{l} Foundation", "{c} Institute of Technology", "Department of Health", "Ministry of Finance", "{c} Chamber of Commerce", "The {c} Times", "{c} Museum of Art", "{c} United", "FC {c}", "{l} College", "Church of St. {f}", "{l} Family Trust", "{l} Clinic", "Royal {c} Society"]
KNOWN_ORGS = "Google|Microsoft|Amazon|Apple|Facebook|Netflix|Toyota|Honda|Siemens|Samsung|Sony|Intel|IBM|Oracle|Goldman Sachs|JP Morgan|JPMorgan Chase|Wells Fargo|Morgan Stanley|Johnson & Johnson|Procter & Gamble|Ford|General Motors|Mercedes-Benz|Walmart|Target|Costco|McDonald's|Starbucks|Nike|Adidas|Harley Davidson|Warner Brothers|Disney|Paramount|Boeing|Airbus|Lockheed Martin|Harvard University|Stanford|MIT|Oxford University|NASA|FBI|CIA|UNICEF|Red Cross|World Bank|European Union|United Nations|Deloitte|Ernst & Young|PricewaterhouseCoopers|KPMG|Ben & Jerry's|Barclays|Lloyds|HSBC|Deutsche Bank|Credit Suisse|Philip Morris|Jack Daniel's|Marks & Spencer|Tiffany|Ralph Lauren|Calvin Klein|Hugo Boss|Louis Vuitton|Merrill Lynch|Charles Schwab|Estée Lauder|Mary Kay|Wendy's|Trader Joe's|Macy's|Levi Strauss|Eli Lilly|Abbott Laboratories|John Deere|Dell|Hewlett Packard|Tesla|SpaceX|OpenAI|Nvidia|GitHub|GitLab|Docker|Red Hat|Canonical|Mozilla|Cloudflare".split("|")


class People:
    """`held` takes the tenth of each list that training never sees."""

    def __init__(self, lists, rng, held):
        self.rng = rng
        keep = (lambda w: hash_of(w) % 10 == 0) if held else (lambda w: hash_of(w) % 10 != 0)
        self.common_first = [w for w in lists.census_first[:700] + lists.census_first[1219:2300] if keep(w)]
        self.rare_first = [w for w in lists.census_first if keep(w)]
        self.common_last = [w for w in lists.census_last[:1500] if keep(w)]
        self.rare_last = [w for w in lists.census_last[1500:40000] if keep(w)]
        self.world = [(sorted(filter(keep, lists.faker_first[k])), sorted(filter(keep, lists.faker_last[k]))) for k in lists.faker_first
                      if len(lists.faker_first[k]) > 20 and len(lists.faker_last[k]) > 20 and k not in ("zh_CN", "zh_TW")]
        self.world = [(f, l) for f, l in self.world if f and l]
        own = [(INDIAN, INDIAN_LAST), (AFRICAN, AFRICAN_LAST), (ARABIC, ARABIC_LAST), (SLAVIC, SLAVIC_LAST), (JAPANESE, JAPANESE_LAST)]
        self.world += [([w for w in f if keep(w)] or f, [w for w in l if keep(w)] or l) for f, l in own] * 2
        self.cities = [(n, c) for n, c, p in lists.cities[:14000] if keep(n)]
        self.big_cities = [n for n, c, p in lists.cities[:1500] if keep(n)]
        self.us_cities = [n for n, c, p in lists.cities if c == "US" and keep(n)]
        self.gb_cities = [n for n, c, p in lists.cities if c == "GB" and keep(n)]
        self.countries = lists.countries

    def first(self):
        r = self.rng.random()
        if r < 0.4:
            return self.rng.choice(self.common_first)
        if r < 0.5:
            return self.rng.choice(self.rare_first)
        return self.rng.choice(self.rng.choice(self.world)[0])

    def last(self):
        r = self.rng.random()
        name = self.rng.choice(self.common_last) if r < 0.35 else self.rng.choice(self.rare_last) if r < 0.55 else self.rng.choice(self.rng.choice(self.world)[1])
        q = self.rng.random()
        if q < 0.02:
            name = "O'" + name
        elif q < 0.035:
            name = "Mc" + name
        elif q < 0.06:
            name += "-" + self.rng.choice(self.common_last)
        elif q < 0.09:
            p = self.rng.choice(PARTICLES)
            name = p + ("" if p.endswith("-") else " ") + name
        return name

    def asian(self):
        rng = self.rng
        k = rng.random()
        if k < 0.35:
            last, given = rng.choice(PINYIN).title(), [rng.choice(GIVEN) for _ in range(rng.choice((1, 2, 2)))]
        elif k < 0.6:
            last, given = rng.choice(WADE), [rng.choice(WADE_GIVEN), rng.choice(WADE_GIVEN)]
        elif k < 0.85:
            last, given = rng.choice(KOREAN_LAST), [rng.choice(KOREAN), rng.choice(KOREAN)]
        else:
            return f"{rng.choice(VIETNAMESE)} {rng.choice(VIETNAMESE_GIVEN)}"
        style = rng.random()
        name = "-".join([given[0].title()] + [g.title() if style < 0.5 else g for g in given[1:]]) if style < 0.6 else "".join(given).title() if style < 0.9 else " ".join(g.title() for g in given)
        form = rng.random()
        return f"{last} {name}" if form < 0.5 else f"{name} {last}" if form < 0.85 else f"{last.upper()}, {name}" if form < 0.93 else f"{last.upper()} {name}"

    def pair(self):
        if self.rng.random() < 0.35:
            f, l = self.rng.choice(self.world)
            return self.rng.choice(f), self.rng.choice(l)
        return self.first(), self.last()

    def full(self):
        rng = self.rng
        if rng.random() < 0.12:
            return self.asian()
        first, last = self.pair()
        q = rng.random()
        if q < 0.62:
            return f"{first} {last}"
        if q < 0.68:
            return f"{first} {rng.choice('ABCDEFGHIJKLMNOPRSTVW')}. {last}"
        if q < 0.71:
            return f"{first} {rng.choice('ABCDEFGHIJKLMNOPRSTVW')} {last}"
        if q < 0.76:
            return f"{first} {self.first()} {last}"
        if q < 0.80:
            return f"{first[0]}. {last}"
        if q < 0.81:
            return f"{first[0]}.{rng.choice('ABCDEFGHJKLMRST')}. {last}"
        if q < 0.84:
            return f"{first} {last} {rng.choice(['Jr.', 'Jr', 'jr.', 'Sr.', 'III', 'II', 'IV', 'PhD', 'MD'])}"
        if q < 0.85:
            return f"{first} {last}, {rng.choice(['Jr.', 'Jr', 'MD', 'PhD', 'Esq.'])}"
        if q < 0.88:
            return f"{last}, {first}"
        if q < 0.9:
            return f"{first} {last} {self.last()}"
        if q < 0.92:
            return f"{first}-{self.first()} {last}"
        if q < 0.95:
            return f"{first} {last}".upper()
        return f"{first} {last}"

    def plain_full(self):
        first, last = self.pair()
        return f"{first} {last}"

    def place(self):
        return self.rng.choice(self.big_cities) if self.rng.random() < 0.6 else self.rng.choice(self.cities)[0]

    def organisation(self):
        rng = self.rng
        q = rng.random()
        if q < 0.35:
            return rng.choice(KNOWN_ORGS)
        if q < 0.6:
            return rng.choice(ORG_FORMS).format(c=self.place(), f=self.rng.choice(self.common_first), l=rng.choice(self.common_last), l2=rng.choice(self.common_last), l3=rng.choice(self.common_last))
        stem = rng.choice(COMPANY_STEMS) if rng.random() < 0.6 else rng.choice(self.common_last + self.rare_last[:3000])
        if rng.random() < 0.3:
            stem += " " + rng.choice(COMPANY_STEMS)
        return f"{stem} {rng.choice(COMPANY_TAILS)}"

    def street(self):
        rng = self.rng
        number = rng.choice([str(rng.randint(1, 250)), str(rng.randint(1, 9999)), f"{rng.randint(1, 400)}{rng.choice('ABC')}", f"{rng.randint(1, 80)}-{rng.randint(81, 120)}"])
        if rng.random() < 0.35:
            form = rng.choice(FOREIGN_STREETS)
            name = rng.choice([self.last(), self.last(), self.place(), rng.choice(STREET_HEADS), f"{self.first()} {self.last()}"])
            return form.format(n=number, m=rng.randint(1, 40), S=name, s=name.split()[-1], de=rng.choice(["de", "de la", "du", "des", "de l'"]).strip()).replace("  ", " ")
        q = rng.random()
        head = rng.choice(STREET_HEADS) if q < 0.5 else self.last() if q < 0.75 else f"{rng.randint(1, 160)}" if q < 0.85 else self.place() if q < 0.95 else f"{rng.choice(STREET_HEADS)} {rng.choice(STREET_HEADS)}"
        if head.isdigit():
            head += "th" if head[-2:] in ("11", "12", "13") else {"1": "st", "2": "nd", "3": "rd"}.get(head[-1], "th")
        direction = rng.choice(["N ", "S ", "E ", "W ", "North ", "West ", "NW "]) if rng.random() < 0.12 else ""
        tail = rng.choice(STREET_TAILS) + ("." if rng.random() < 0.08 else "")
        return f"{number} {direction}{head} {tail}"

    def unit(self):
        rng = self.rng
        return rng.choice(["Apt {n}", "Apt. {n}", "Apt {n}{l}", "Suite {m}", "Suite {m}", "Unit {n}", "#{n}", "Flat {n}", "Ste. {m}", "Floor {n}", "Room {m}", "Building {l}"]).format(n=rng.randint(1, 40), m=rng.randint(100, 999), l=rng.choice("ABCDEF"))

    def code(self):
        rng = self.rng
        return rng.choice([f"{rng.randint(10000, 99999)}", f"{rng.randint(10000, 99999)}-{rng.randint(1000, 9999)}", f"{rng.randint(1000, 9999)}", f"{rng.randint(100, 999)} {rng.randint(10, 99)}"])

    def uk_code(self):
        rng = self.rng
        return rng.choice(["SW", "NW", "SE", "E", "N", "W", "M", "LS", "B", "CB", "OX", "EH", "G", "BS", "CF", "YO"]) + f"{rng.randint(1, 22)} {rng.randint(1, 9)}{rng.choice('ABDEFGHJLNPQRSTUWXYZ')}{rng.choice('ABDEFGHJLNPQRSTUWXYZ')}"

    def state(self):
        return self.rng.choice("AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC".split())

    def address(self):
        rng = self.rng
        sep = rng.choice([", ", ", ", ", ", "\n", " ", ",\n"])
        street = self.street()
        q = rng.random()
        if q < 0.22:
            return street
        parts = [street]
        if rng.random() < 0.3:
            parts = [street, self.unit()] if rng.random() < 0.7 else [self.unit(), street]
        if q < 0.55:
            parts.append(f"{rng.choice(self.us_cities)}, {self.state()} {rng.randint(10000, 99999)}" if rng.random() < 0.8 else f"{rng.choice(self.us_cities)} {self.state()} {rng.randint(10000, 99999)}-{rng.randint(1000, 9999)}")
        elif q < 0.65:
            parts += [rng.choice(self.gb_cities), self.uk_code()] if rng.random() < 0.5 else [f"{rng.choice(self.gb_cities)} {self.uk_code()}"]
        elif q < 0.7:
            parts.append(f"{self.place()}, {rng.choice(['ON', 'BC', 'QC', 'AB'])} {rng.choice('ABCEGHJKLMNPRSTVXY')}{rng.randint(1, 9)}{rng.choice('ABCEGHJKLMN')} {rng.randint(1, 9)}{rng.choice('ABCEGHJKLMN')}{rng.randint(1, 9)}")
        elif q < 0.9:
            parts.append(f"{self.code()} {self.place()}" if rng.random() < 0.65 else f"{self.place()} {self.code()}")
        else:
            parts.append(self.place())
        if rng.random() < 0.25:
            parts.append(rng.choice(self.countries) if rng.random() < 0.7 else rng.choice(["USA", "UK", "Germany", "France", "Canada", "Australia"]))
            if rng.random() < 0.15:
                parts[-1] += " " + self.code()
        if rng.random() < 0.06:
            return f"{rng.choice(['PO Box', 'P.O. Box', 'P.O Box', 'Po Box'])} {rng.randint(1, 9999)}{sep}{sep.join(parts[1:])}"
        return sep.join(parts)


def hash_of(word):
    h = 7
    for c in word.lower():
        h = (h * 31 + ord(c)) & 0x7FFFFFFF
    return h >> 3
