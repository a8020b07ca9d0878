// engine: the engine thread, and generate() on the threads that wait for it.
#include "engine/engine.h"
#include <algorithm>
#include <deque>
#include <mutex>
#include <thread>
#include "engine/mailbox.h"
#include "engine/plan.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"

namespace {
double seconds(EngineClock::duration d) { return std::chrono::duration<double>(d).count(); }

class LocalEngine final : public Engine {
 public:
  LocalEngine(std::unique_ptr<Device> device, std::unique_ptr<Model> model, std::unique_ptr<DiskCache> disk, std::vector<std::string> notes, const EngineOptions& options,
              const EnginePlan& plan)
      : device_(std::move(device)),
        model_(std::move(model)),
        page_tokens_(options.page_tokens),
        recurrent_(plan.recurrent),
        context_tokens_(plan.context_tokens),
        mailbox_(static_cast<size_t>(options.max_sequences) + static_cast<size_t>(options.max_waiting)),
        notes_(std::move(notes)),
        disk_(std::move(disk)),
        scheduler_(*device_, options, plan.state, plan.recurrent, {device_->page_bytes(model_->states(), options.page_tokens), device_->slot_bytes(model_->states())}, disk_.get()),
        sampler_(model_->config().vocab_size) {
    if (disk_) disk_->set_wake([this] { mailbox_.nudge(); });
    counted_.max_sequences = options.max_sequences;
    counted_.state_bytes = static_cast<size_t>(plan.state.n_pages) * device_->page_bytes(model_->states(), options.page_tokens) +
                           static_cast<size_t>(plan.state.n_slots) * device_->slot_bytes(model_->states());
    for (Flight& flight : flights_) flight.entries.reserve(static_cast<size_t>(options.max_sequences));
    note_stats();
    thread_ = std::thread([this] { run(); });
  }
  ~LocalEngine() override {
    mailbox_.end();
    mailbox_.wait_until_left();
    thread_.join();
  }

  Result<Finish> generate(const Generation& request, const TokenSink& out, std::stop_token stop) override;
  int context_tokens() const override { return context_tokens_; }
  const ModelConfig& config() const override { return model_->config(); }
  bool uses_snapshot_hints() const override { return recurrent_; }
  EngineStats stats() const override {
    EngineStats stats;
    {
      std::lock_guard lock(stats_mutex_);
      stats = stats_;
    }
    if (!disk_) return stats;
    const DiskCache::Counts disk = disk_->counts();
    stats.cache_disk_bytes = disk.bytes;
    stats.disk_writes = disk.writes;
    stats.disk_dropped = disk.dropped;
    stats.disk_corrupted = disk.corrupted;
    return stats;
  }
  std::vector<Divergence> recent_prompts() const override {
    std::lock_guard lock(stats_mutex_);
    return {recent_.begin(), recent_.end()};
  }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  // Waiting threads.
  Status check(const Generation& request) const;
  Result<Finish> follow(Sequence& sequence, const TokenSink& out, const std::stop_token& stop);

  // Engine thread.
  void run();
  void drop_abandoned();
  void note_recent(Divergence divergence);
  bool step();
  void launch();
  void land();
  struct Flight;
  void fail(const Flight& flight, const Error& error);
  void deliver(const Scheduler::Entry& entry, std::span<const float> logits, std::span<const TokenId> drawn);
  bool sample(Sequence& sequence, std::span<const float> row);
  bool take(Sequence& sequence, TokenId drawn);
  void conclude(Sequence& sequence, std::optional<Error> error);
  void append(Sequence& sequence, TokenId id, std::span<const float> row);
  void end(Sequence& sequence, std::optional<Error> error, bool keep);  // keep: its state is remembered
  void end_all(const Error& error);
  void lose(const Error& why);
  void note_stats();

  std::unique_ptr<Device> device_;
  std::unique_ptr<Model> model_;
  const int page_tokens_;
  const bool recurrent_;
  const int context_tokens_;
  Mailbox mailbox_;
  const std::vector<std::string> notes_;
  std::unique_ptr<DiskCache> disk_;  // may be null
  Scheduler scheduler_;  // this and what follows: engine thread only
  Sampler sampler_;
  // Steps under way: two at most, and two only when the second follows the first (see Scheduler).
  struct Flight {
    std::vector<Scheduler::Entry> entries;
    Scheduler::Rows rows;
    Tensor logits;
    Status status = ok_status();  // of its submission
    EngineClock::time_point began;
  };
  Flight flights_[2];
  size_t oldest_flight_ = 0, n_flights_ = 0;
  EngineClock::time_point landed_;
  std::vector<TokenId> jump_;  // what a constraint appends
  EngineStats counted_;
  mutable std::mutex stats_mutex_;
  EngineStats stats_;    // a copy for everyone; its fault is the first and the last
  std::deque<Divergence> recent_;  // the last prompts, without token ids
  std::thread thread_;
};

// ---- waiting threads ----------------------------------------------------------------------------------------------------

Status LocalEngine::check(const Generation& request) const {
  const int rows = model_->config().vocab_size;
  if (request.prompt.empty()) return Error{Code::invalid_request, "cannot answer: the prompt has no tokens"};
  for (TokenId id : request.prompt)
    if (id < 0 || id >= rows)
      return Error{Code::invalid_request, "cannot answer: the prompt has the token id " + std::to_string(id) + ", the model has " + std::to_string(rows)};
  if (request.hidden && (request.max_tokens != 0 || !request.prompt_logits || request.n_valid_ids != model_->config().hidden_dim))
    return Error{Code::internal, "cannot give hidden states: asked for together with tokens"};
  if (request.max_tokens < 0) return Error{Code::invalid_request, "cannot answer: max_tokens is " + std::to_string(request.max_tokens)};
  // A place is left for the first token of the answer, unless none is wanted.
  if (request.prompt.size() + (request.max_tokens > 0 ? 1 : 0) > static_cast<size_t>(context_tokens_))
    return prompt_too_long(static_cast<int>(request.prompt.size()), context_tokens_);
  return ok_status();
}

Result<Finish> LocalEngine::generate(const Generation& request, const TokenSink& out, std::stop_token stop) {
  TRY_STATUS(check(request));
  if (std::string fault = stats().fault; !fault.empty()) return Error{Code::device, std::move(fault)};
  if (!mailbox_.enter()) return Error{Code::overloaded, "cannot answer: too many requests are waiting"};
  auto sequence = std::make_shared<Sequence>(request, context_tokens_, page_tokens_, model_->config().vocab_size);
  Result<Finish> result = Error{Code::cancelled, "cannot answer: the engine is shutting down"};
  {
    const std::stop_callback on_stop(stop, [&] {
      sequence->abandoned = true;
      mailbox_.nudge();
    });
    if (mailbox_.submit(sequence)) result = follow(*sequence, out, stop);
  }
  mailbox_.leave();
  return result;
}

// Passes events on until the engine thread has closed the channel. After the sink's or the token's no, the rest is thrown away.
Result<Finish> LocalEngine::follow(Sequence& s, const TokenSink& out, const std::stop_token& stop) {
  bool refused = false;
  int delivered = 0;
  for (TokenChannel::Next next; (next = s.channel.wait()) != TokenChannel::Next::closed;) {
    const bool wanted = !refused && !stop.stop_requested();
    if (next == TokenChannel::Next::progress) {
      const int done = s.channel.take_progress();
      if (wanted && s.request->progress) s.request->progress(done, s.n_prompt);
      continue;
    }
    const TokenChannel::Event& event = s.channel.front();
    if (wanted && event.is_prompt) s.request->prompt_logits(event.index, event.logits);
    if (wanted && !event.is_prompt) {
      ++delivered;
      refused = !out({event.id, event.index, s.request->want_logits ? event.logits : std::span<const float>()});
    }
    if (refused) s.abandoned = true;
    if (s.channel.pop() || refused) mailbox_.nudge();
  }
  if (s.channel.error()) return *s.channel.error();
  Finish finish;
  const bool expired = s.expired && !stop.stop_requested();
  const bool complete = s.completed && delivered == s.n_generated(), by_itself = complete && delivered > 0 && s.ended_by_itself();
  finish.reason = refused || by_itself ? Finish::Reason::stop : complete || expired ? Finish::Reason::length : Finish::Reason::cancelled;
  finish.prompt_tokens = s.n_prompt;
  finish.cached_tokens = s.n_cached;
  finish.completion_tokens = delivered;
  if (s.n_generated() > 0) {
    finish.prefill_s = seconds(s.first_token - s.started);
    finish.decode_s = seconds(s.last_token - s.first_token);
  }
  if (expired) finish.warnings.push_back("the answer ended at its deadline");
  if (s.request->explain) s.request->explain(s.divergence);
  return finish;
}

// ---- engine thread ------------------------------------------------------------------------------------------------------

void LocalEngine::run() {
  using namespace std::chrono_literals;
  while (mailbox_.take(scheduler_.waiting())) {
    for (const auto& sequence : scheduler_.waiting())
      if (sequence->age == 0) scheduler_.arrive(*sequence);
    drop_abandoned();
    if (const Error* dead = n_flights_ == 0 ? device_->dead() : nullptr) lose(*dead);
    const bool worked = step();
    note_stats();
    // Waiting sequences are looked at again: a slow reader may have become slow enough to lose its place. So are deadlines.
    const bool idle = scheduler_.waiting().empty() && scheduler_.running().empty();
    if (!worked) mailbox_.wait(idle ? 60000ms : 100ms);
  }
  while (n_flights_ > 0) land();
  end_all({Code::cancelled, "cannot answer: the engine is shutting down"});
}

void LocalEngine::end_all(const Error& error) {
  while (!scheduler_.running().empty()) {
    Sequence& s = *scheduler_.running().back();
    end(s, s.over ? std::exchange(s.failure, std::nullopt) : error, false);
  }
  for (const auto& sequence : scheduler_.waiting()) sequence->channel.close(error);
  scheduler_.waiting().clear();
}

void LocalEngine::drop_abandoned() {
  const auto now = EngineClock::now();
  auto& waiting = scheduler_.waiting();
  for (size_t i = waiting.size(); i-- > 0;) {
    if (!waiting[i]->wants_end(now)) continue;
    waiting[i]->channel.close(std::nullopt);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (size_t i = scheduler_.running().size(); i-- > 0;)
    if (scheduler_.running()[i]->wants_end(now) && scheduler_.running()[i]->under_way == 0) end(*scheduler_.running()[i], std::nullopt, true);
}

bool LocalEngine::step() {
  if (n_flights_ > 0) {
    if (flights_[oldest_flight_].status && scheduler_.follow_step()) launch();
    land();
    return true;
  }
  scheduler_.next_step();
  if (scheduler_.entries().empty()) return scheduler_.restored();
  launch();
  if (!scheduler_.may_be_followed()) land();
  return true;
}

void LocalEngine::launch() {
  Flight& flight = flights_[(oldest_flight_ + n_flights_++) % 2];
  flight.entries.assign(scheduler_.entries().begin(), scheduler_.entries().end());
  flight.rows = scheduler_.rows();
  flight.began = EngineClock::now();
  if (const auto logits = device_->repeat(scheduler_.batch(), scheduler_.specs())) {
    flight.logits = *logits;
  } else {
    Encoder& encoder = device_->begin();
    flight.logits = model_->forward(encoder, scheduler_.batch());
    if (!scheduler_.specs().empty()) encoder.sample(flight.logits, scheduler_.specs());
    device_->remember(scheduler_.batch(), scheduler_.specs(), flight.logits);
  }
  flight.status = device_->submit();
  for (const auto& entry : flight.entries) ++entry.sequence->under_way;
}

// Waits for the oldest step under way and hands out what it gave.
void LocalEngine::land() {
  Flight& flight = flights_[oldest_flight_];
  oldest_flight_ = (oldest_flight_ + 1) % 2;
  --n_flights_;
  const auto drawn = flight.status ? device_->await() : Result<std::span<const TokenId>>(flight.status.error());
  for (const auto& entry : flight.entries) --entry.sequence->under_way;
  if (!drawn) return fail(flight, drawn.error());
  const bool host_draws = std::ranges::any_of(flight.entries, [](const auto& entry) { return entry.n_logits > (entry.spec < 0 ? 0 : 1); });
  const std::span<const float> rows = host_draws ? device_->host(flight.logits) : std::span<const float>();
  if (const Error* dead = host_draws ? device_->dead() : nullptr) return fail(flight, *dead);
  const EngineClock::time_point now = EngineClock::now();
  scheduler_.took(flight.rows, seconds(now - std::max(flight.began, landed_)));
  landed_ = now;
  ++counted_.steps;
  for (const auto& entry : flight.entries) deliver(entry, rows, *drawn);
}

// The device will not work again.
void LocalEngine::lose(const Error& why) {
  counted_.fault = why.message;
  note_stats();
  end_all(why);
}

// Nothing that was computed in the step or behind it can be trusted.
void LocalEngine::fail(const Flight& flight, const Error& error) {
  for (; n_flights_ > 0; --n_flights_, oldest_flight_ = (oldest_flight_ + 1) % 2) {
    const Flight& behind = flights_[oldest_flight_];
    if (behind.status) (void)device_->await();
    for (const auto& entry : behind.entries) --entry.sequence->under_way;
  }
  if (const Error* dead = device_->dead()) return lose(*dead);
  for (const auto& entry : flight.entries) {  // those of the step behind are among them
    Sequence& s = *entry.sequence;
    end(s, s.over ? std::exchange(s.failure, std::nullopt) : error, false);
  }
}

void LocalEngine::deliver(const Scheduler::Entry& entry, std::span<const float> logits, std::span<const TokenId> drawn) {
  Sequence& s = *entry.sequence;
  if (s.over) {  // one row too many
    scheduler_.advance(entry);
    const bool keep = !s.failure;
    return end(s, std::exchange(s.failure, std::nullopt), keep);
  }
  (s.decoding() ? counted_.decode_tokens : counted_.prefill_tokens) += static_cast<uint64_t>(entry.n_rows);
  scheduler_.advance(entry);
  const auto width = static_cast<size_t>(s.request->hidden ? model_->config().hidden_dim : model_->config().vocab_size);
  const auto row = [&](int32_t i) { return logits.subspan(static_cast<size_t>(entry.first_logit + i) * width, static_cast<size_t>(s.n_valid_ids)); };
  if (s.n_generated() == 0 && s.request->progress) s.channel.set_progress(s.n_past);
  if (s.request->prompt_logits)
    for (int32_t i = 0; s.prompt_reported < std::min(s.n_past, s.n_prompt); ++i) {
      TokenChannel::Event& event = s.channel.place();
      event.is_prompt = true;
      event.index = s.prompt_reported++;
      std::ranges::copy(row(i), event.logits.begin());
      s.channel.publish();
    }
  const bool sampled = !entry.samples || (entry.spec < 0 ? sample(s, row(entry.n_logits - 1)) : take(s, drawn[static_cast<size_t>(entry.spec)]));
  if (!sampled)
    return conclude(s, Error{Code::internal, "cannot sample token " + std::to_string(s.n_generated()) + " of the answer: its logits are no finite numbers, or its constraint leaves no token"});
  s.completed = s.finished();
  if (s.completed) conclude(s, std::nullopt);
}

bool LocalEngine::take(Sequence& s, TokenId drawn) {
  if (drawn < 0) return false;
  append(s, drawn, {});
  return true;
}

bool LocalEngine::sample(Sequence& s, std::span<const float> row) {
  const Generation& g = *s.request;
  const Draw draw{row, s.tokens, s.n_prompt, s.n_generated(), g.constraint ? g.constraint->mask() : std::span<const uint64_t>(), g.stop_ids, &s.surprise};
  const auto forced = g.constraint ? g.constraint->forced() : std::nullopt;
  const TokenId id = forced ? *forced : sampler_.sample(draw, g.sampling);
  if (id < 0) return false;
  append(s, id, row);
  if (!g.constraint || g.want_logits) return true;
  g.constraint->jump(jump_);
  for (const TokenId next : jump_) {
    if (s.n_generated() >= s.max_tokens || s.ended_by_itself() || s.channel.room() < 2) break;
    append(s, next, row);
  }
  return true;
}

void LocalEngine::append(Sequence& s, TokenId id, std::span<const float> row) {
  const int index = s.n_generated();
  s.tokens.push_back(id);
  s.last_token = EngineClock::now();
  if (index == 0) s.first_token = s.last_token;
  if (s.request->constraint) s.request->constraint->accept(id);
  TokenChannel::Event& event = s.channel.place();
  event.is_prompt = false;
  event.id = id;
  event.index = index;
  if (s.request->want_logits) std::ranges::copy(row, event.logits.begin());
  s.channel.publish();
}

// Ends a sequence as soon as no step under way has a row of it.
void LocalEngine::conclude(Sequence& s, std::optional<Error> error) {
  const bool keep = !error;
  if (s.under_way == 0) return end(s, std::move(error), keep);
  s.over = true;
  s.failure = std::move(error);
}

void LocalEngine::end(Sequence& s, std::optional<Error> error, bool keep) {
  // The close lets the waiting thread go on, so it comes last, on a sequence that is kept alive.
  const auto kept = scheduler_.retire(s, keep);
  s.divergence.cached_tokens = s.n_cached;
  if (s.n_generated() > 0) s.divergence.recomputed_s = seconds(s.first_token - s.started);
  note_recent(s.divergence);
  note_stats();
  kept->channel.close(std::move(error));
}

void LocalEngine::note_recent(Divergence divergence) {
  constexpr size_t most = 64;
  divergence.was.clear();
  divergence.now.clear();
  std::lock_guard lock(stats_mutex_);
  if (recent_.size() == most) recent_.pop_front();
  recent_.push_back(std::move(divergence));
}

void LocalEngine::note_stats() {
  counted_.running = static_cast<int>(scheduler_.running().size());
  counted_.waiting = static_cast<int>(scheduler_.waiting().size());
  counted_.pages_total = static_cast<size_t>(scheduler_.pool().pages_total());
  counted_.pages_free = static_cast<size_t>(scheduler_.pool().pages_total() - scheduler_.pool().pages_pinned());
  counted_.snapshots = scheduler_.cache().snapshots();
  counted_.cached_tokens = scheduler_.cached_tokens();
  counted_.preemptions = scheduler_.preemptions();
  counted_.cache_bytes = scheduler_.cache_bytes();
  counted_.disk_hits = scheduler_.disk_hits();
  counted_.disk_hit_tokens = scheduler_.disk_hit_tokens();
  std::lock_guard lock(stats_mutex_);
  stats_ = counted_;
}
// What the bytes of state depend on: what the caller says, and their layout.
std::string layout_key(const Device& device, const Model& model, const EngineOptions& o) {
  std::string key = o.cache_key + "|" + std::to_string(o.page_tokens);
  for (const StateSpec& s : model.states())
    key += "|" + std::to_string(device.page_bytes({&s, 1}, o.page_tokens)) + "," + std::to_string(device.slot_bytes({&s, 1})) + "," + std::to_string(s.window);
  return key;
}

std::unique_ptr<DiskCache> open_disk(const Device& device, const Model& model, const EngineOptions& o, bool recurrent, std::vector<std::string>& notes) {
  if (o.cache_dir.empty() || o.cache_disk_bytes == 0 || !o.prefix_cache) return nullptr;
  const auto page_tokens = static_cast<size_t>(o.page_tokens);
  auto disk = DiskCache::open({o.cache_dir, o.cache_disk_bytes, layout_key(device, model, o), page_tokens, device.page_bytes(model.states(), o.page_tokens),
                               device.slot_bytes(model.states()), recurrent});
  if (disk) return std::move(*disk);
  notes.push_back(disk.error().message + "; what is cached ends with this process");
  return nullptr;
}
}  // namespace

Result<std::unique_ptr<Engine>> make_engine(std::unique_ptr<Device> device, std::unique_ptr<Model> model, const EngineOptions& options) {
  const EngineOptions o = with_device_sizes(options, *device);
  if (o.max_batch_tokens < 1 || o.prefill_chunk < 1 || o.prefill_step_ms < 1 || o.mixed_chunk < 1 || o.max_sequences < 1 || o.page_tokens < 1 || o.context_tokens < 0 || o.max_waiting < 0)
    return Error{Code::invalid_request, "cannot start the engine: every size must be at least 1"};
  if (!model->config().labels.empty()) return Error{Code::unsupported, "cannot start the engine: this model labels tokens and writes no text"};
  TRY(const EnginePlan plan, plan_state(*device, *model, o));
  TRY_STATUS(device->allocate_state(model->states(), plan.state));
  std::vector<std::string> notes;
  auto disk = open_disk(*device, *model, o, plan.recurrent, notes);
  return std::unique_ptr<Engine>(std::make_unique<LocalEngine>(std::move(device), std::move(model), std::move(disk), std::move(notes), o, plan));
}
