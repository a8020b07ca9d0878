// shelf: requests on their way to a model that may have to be loaded first.
#include "app/shelf.h"

#include <algorithm>
#include <filesystem>

namespace {

Error gone() { return {Code::cancelled, "cannot answer: the request was cancelled while its model was being loaded"}; }

std::string_view without(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

}  // namespace

const ShelfModel* find_on_shelf(std::span<const ShelfModel> models, std::string_view asked) {
  const auto first = [&](auto matches) -> const ShelfModel* {
    const auto found = std::ranges::find_if(models, matches);
    return found == models.end() ? nullptr : &*found;
  };
  if (asked.empty()) return models.empty() ? nullptr : &models.front();
  for (const std::string_view name : {asked, without(asked, "local/", ":latest")}) {
    if (const auto* m = first([&](const ShelfModel& m) { return m.info.name == name; })) return m;
    if (const auto* m = first([&](const ShelfModel& m) { return std::ranges::find(m.other_names, name) != m.other_names.end(); })) return m;
  }
  const std::string_view name = without(asked, "local/", ":latest");
  if (const auto* m = first([&](const ShelfModel& m) { return m.path == name; })) return m;
  if (const auto* m = first([&](const ShelfModel& m) { return std::filesystem::path(m.path).filename() == name || std::filesystem::path(m.path).stem() == name; })) return m;
  return first([&](const ShelfModel& m) { return m.info.name.size() > name.size() + 1 && m.info.name.starts_with(name) && m.info.name[name.size()] == ':'; });  // owner/repo of owner/repo:QUANT
}

Shelf::Shelf(std::unique_ptr<Library> library, ShelfOptions options) : library_(std::move(library)), options_(std::move(options)), thread_([this] { work(); }) {}

Shelf::~Shelf() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// ---- uses ---------------------------------------------------------------------------------------------------------------

Shelf::Lease::~Lease() {
  if (shelf_ == nullptr) return;
  {
    const std::lock_guard lock(shelf_->mutex_);
    place_->users--;
    if (touch_) place_->last_used = shelf_->options_.now();
  }
  shelf_->changed_.notify_all();
}

Result<ShelfModel> Shelf::find(const std::string& asked) const {
  const std::vector<ShelfModel> models = library_->list();
  if (const ShelfModel* found = find_on_shelf(models, asked)) return *found;
  std::string names;
  for (const ShelfModel& model : models) names += (names.empty() ? "" : ", ") + model.info.name;
  return Error{Code::not_found, "cannot find a model of that name: " + (names.empty() ? "there is none here" : "here are " + names)};
}

Shelf::Place& Shelf::place_of(const ShelfModel& model) {
  const auto [at, fresh] = places_.try_emplace(model.place());
  Place& place = at->second;
  if (fresh || place.state == Place::State::absent) {
    place.model = model;
    place.keep_alive = model.keep_alive.value_or(options_.keep_alive);
  }
  return place;
}

void Shelf::set_state(Place& place, Place::State state) {
  place.state = state;
  place.version++;
  changed_.notify_all();
}

Result<Shelf::Lease> Shelf::acquire(const std::string& asked, const std::stop_token& stop, std::optional<std::chrono::seconds> keep_alive) {
  TRY(const ShelfModel model, find(asked));
  Lock lock(mutex_);
  Place& place = place_of(model);
  if (keep_alive) place.keep_alive = *keep_alive;
  for (uint64_t mine = 0; !ending_ && !stop.stop_requested();) {
    if (place.free_to_take()) {
      place.users++;
      place.last_used = options_.now();
      return Lease(*this, place, true);
    }
    if (mine != 0 && place.failed == mine) return place.error;
    if (place.state == Place::State::absent) {
      place_of(model);
      if (keep_alive) place.keep_alive = *keep_alive;
      place.attempt++;
      queue_.push_back(&place);
      set_state(place, Place::State::queued);
    }
    mine = place.state == Place::State::queued || place.state == Place::State::loading ? place.attempt : 0;
    place.waiters++;
    changed_.wait(lock, stop, [&, seen = place.version] { return ending_ || place.version != seen || place.free_to_take(); });
    place.waiters--;
  }
  changed_.notify_all();  // a load that nobody waits for any more need not begin
  return gone();
}

Result<Finish> Shelf::complete(const ChatRequest& request, const Sink& out, std::stop_token stop) {
  auto lease = acquire(request.model, stop);
  if (!lease && lease.error().code == Code::cancelled && stop.stop_requested()) return Finish{.reason = Finish::Reason::cancelled};
  if (!lease) return std::move(lease.error());
  ChatRequest whole = request;
  lease->resident().fill_in(whole);
  return lease->completer().complete(whole, out, std::move(stop));
}

Result<std::string> Shelf::render(const ChatRequest& request) {
  TRY(const Lease lease, acquire(request.model, {}));
  ChatRequest whole = request;
  lease.resident().fill_in(whole);
  return lease.completer().render(whole);
}

Result<std::vector<TokenId>> Shelf::tokenize(const std::string& model, std::string_view text, bool special, bool add_bos) {
  TRY(const Lease lease, acquire(model, {}));
  return lease.completer().tokenize(model, text, special, add_bos);
}

Result<std::string> Shelf::detokenize(const std::string& model, std::span<const TokenId> ids) {
  TRY(const Lease lease, acquire(model, {}));
  return lease.completer().detokenize(model, ids);
}

Result<Embeddings> Shelf::embed(const EmbedRequest& request, std::stop_token stop) {
  TRY(const Lease lease, acquire(request.model, stop));
  return lease.completer().embed(request, std::move(stop));
}

// ---- what there is --------------------------------------------------------------------------------------------------------

std::vector<ModelInfo> Shelf::models() const {
  const std::vector<ShelfModel> listed = library_->list();
  const auto now = options_.now();
  const int64_t unix_s = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::vector<ModelInfo> all;
  const std::lock_guard lock(mutex_);
  for (const ShelfModel& model : listed) {
    ModelInfo info = model.info;
    info.loaded = false;
    if (const auto at = places_.find(model.place()); at != places_.end() && at->second.state == Place::State::ready) {
      const Place& place = at->second;
      info.loaded = true;
      info.context_tokens = place.info.context_tokens;
      info.device = place.info.device;
      if (!place.info.tool_syntax.empty()) info.tool_syntax = place.info.tool_syntax;
      info.thinks = info.thinks || place.info.thinks;
      info.fills_in = info.fills_in || place.info.fills_in;
      if (!model.pinned && place.keep_alive.count() >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::seconds>((place.users > 0 ? now : place.last_used) + place.keep_alive - now);
        info.expires_unix_s = unix_s + std::max<int64_t>(0, left.count());
      }
    }
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<ModelStats> Shelf::stats() const {
  auto& self = const_cast<Shelf&>(*this);
  std::vector<std::pair<std::string, Lease>> leases;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, place] : self.places_)
      if (place.state == Place::State::ready) place.users++, leases.emplace_back(name, Lease(self, place, false));
  }
  std::vector<ModelStats> all;
  for (const auto& [name, lease] : leases)
    for (ModelStats one : lease.completer().stats()) {
      one.model = name;
      all.push_back(std::move(one));
    }
  return all;
}

bool Shelf::answering() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(places_, [](const auto& entry) { return entry.second.users > 0; });
}

void Shelf::wake() {
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

// ---- coming and going -----------------------------------------------------------------------------------------------------

Status Shelf::load(const std::string& model, std::optional<std::chrono::seconds> keep_alive) {
  if (keep_alive && keep_alive->count() == 0) return unload(model);
  TRY(const Lease lease, acquire(model, {}, keep_alive));
  return ok_status();
}

Status Shelf::unload(const std::string& model) {
  TRY(const ShelfModel found, find(model));
  Lock lock(mutex_);
  Place& place = place_of(found);
  if (place.state == Place::State::queued || place.state == Place::State::loading) return Error{Code::overloaded, "cannot unload " + found.info.name + ": it is being loaded"};
  if (place.state == Place::State::absent) return ok_status();
  const uint64_t absent_again = place.version + (place.state == Place::State::ready ? 2 : 1);  // by way of leaving
  place.leave = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return ending_ || place.version >= absent_again; });
  return ok_status();
}

Status Shelf::pull(const std::string& model, const PullProgress& progress, std::stop_token stop) { return library_->pull(model, progress, std::move(stop)); }

Status Shelf::remove(const std::string& model) {
  TRY(const ShelfModel found, find(model));
  if (found.copy_of.empty()) TRY_STATUS(unload(found.info.name));
  return library_->remove(found);
}

Status Shelf::copy(const std::string& from, const std::string& to) {
  TRY(const ShelfModel found, find(from));
  return library_->copy(found, to);
}
