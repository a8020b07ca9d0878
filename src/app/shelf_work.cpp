// shelf: its own thread: loads what is waited for, lets go of what is idle, and makes room.
#include <fmt/format.h>
#include <algorithm>
#include "app/console.h"
#include "app/shelf.h"

namespace {
std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }
}  // namespace

void Shelf::work() {
  Lock lock(mutex_);
  while (!ending_) {
    if (Place* place = due()) {
      let_go(*place, lock);
    } else if (!queue_.empty()) {
      Place& next = *queue_.front();
      queue_.pop_front();
      fetch(next, lock);
    } else if (const auto expiry = next_expiry()) {
      changed_.wait_for(lock, std::max<ShelfClock::duration>(*expiry - options_.now(), std::chrono::milliseconds(1)));
    } else {
      changed_.wait(lock);
    }
  }
  for (auto& [name, place] : places_)
    if (place.state == Place::State::ready) let_go(place, lock);
}

bool Shelf::is_due(const Place& place) const {
  if (place.state != Place::State::ready || place.users > 0) return false;
  if (place.leave) return true;
  return !place.model.pinned && place.keep_alive.count() >= 0 && options_.now() >= place.last_used + place.keep_alive;
}

Shelf::Place* Shelf::due() {
  for (auto& [name, place] : places_)
    if (is_due(place)) return &place;
  return nullptr;
}

std::optional<ShelfClock::time_point> Shelf::next_expiry() const {
  std::optional<ShelfClock::time_point> next;
  for (const auto& [name, place] : places_)
    if (place.state == Place::State::ready && place.users == 0 && !place.model.pinned && place.keep_alive.count() >= 0)
      next = std::min(next.value_or(ShelfClock::time_point::max()), place.last_used + place.keep_alive);
  return next;
}

void Shelf::let_go(Place& place, Lock& lock) {
  set_state(place, Place::State::leaving);
  auto resident = std::move(place.resident);
  lock.unlock();
  resident.reset();  // seconds, for tens of gigabytes
  lock.lock();
  place.leave = false;
  set_state(place, Place::State::absent);
}

void Shelf::fetch(Place& place, Lock& lock) {
  if (place.waiters == 0) return set_state(place, Place::State::absent);
  set_state(place, Place::State::loading);
  auto resident = bring(place, lock);
  if (!resident) {
    place.error = std::move(resident.error());
    place.failed = place.attempt;
    return set_state(place, Place::State::absent);
  }
  place.resident = std::move(*resident);
  const auto infos = place.resident->completer().models();
  place.info = infos.empty() ? place.model.info : infos.front();
  place.last_used = options_.now();
  set_state(place, Place::State::ready);
}

Result<std::unique_ptr<ResidentModel>> Shelf::bring(Place& place, Lock& lock) {
  const ShelfModel model = place.model;
  lock.unlock();
  auto prepared = library_->prepare(model);
  lock.lock();
  if (!prepared) return std::move(prepared.error());
  TRY_STATUS(make_room(place, **prepared, lock));
  lock.unlock();
  auto resident = (*prepared)->load(library_->available_bytes((*prepared)->memory()));
  lock.lock();
  return resident;
}

Shelf::Place* Shelf::least_recently_used(bool idle, const std::string* memory) {
  Place* oldest = nullptr;
  for (auto& [name, place] : places_)
    if (place.state == Place::State::ready && !place.model.pinned && (place.users == 0) == idle && (!memory || place.resident->memory() == *memory) &&
        (!oldest || place.last_used < oldest->last_used))
      oldest = &place;
  return oldest;
}

// Idle models go first, the longest unused before others; one that answers takes nobody new and goes when it has answered.
Status Shelf::make_room(Place& place, const PreparedModel& prepared, Lock& lock) {
  const std::string memory = prepared.memory();
  while (!ending_) {
    if (place.waiters == 0) return Error{Code::cancelled, "cannot load " + place.model.info.name + ": nobody waits for it any more"};
    const size_t available = library_->available_bytes(memory);
    size_t loaded = 0, evictable = 0;
    for (const auto& [name, other] : places_) {
      if (other.state != Place::State::ready) continue;
      loaded++;
      if (!other.model.pinned && other.resident->memory() == memory) evictable += other.resident->bytes();
    }
    const bool too_many = options_.max_loaded > 0 && loaded >= static_cast<size_t>(options_.max_loaded);
    if (!too_many && prepared.least_bytes() <= available) return ok_status();
    if (prepared.least_bytes() > available + evictable) return refusal(place, prepared, available);
    const std::string* const from = too_many ? nullptr : &memory;
    if (Place* idle = least_recently_used(true, from)) {
      let_go(*idle, lock);
      continue;
    }
    Place* busy = least_recently_used(false, from);
    if (busy == nullptr) return refusal(place, prepared, available);
    busy->leave = true;
    changed_.wait(lock, [&] { return ending_ || place.waiters == 0 || least_recently_used(true, from) != nullptr; });
    if (busy->users > 0) busy->leave = false;
  }
  return Error{Code::cancelled, "cannot load " + place.model.info.name + ": the server is stopping"};
}

Error Shelf::refusal(const Place& place, const PreparedModel& prepared, size_t available) const {
  std::string held;
  size_t held_bytes = 0;
  for (const auto& [name, other] : places_) {
    if (other.state != Place::State::ready || (prepared.least_bytes() > available && other.resident->memory() != prepared.memory())) continue;
    held += fmt::format("{}{} ({}{})", held.empty() ? "" : ", ", name, size(other.resident->bytes()), other.model.pinned ? ", pinned" : "");
    held_bytes += other.resident->bytes();
  }
  const size_t least = prepared.least_bytes();
  if (least <= available) return {Code::overloaded, fmt::format("cannot load {}: {} models may be loaded at once, and these are pinned: {}", place.model.info.name, options_.max_loaded, held)};
  const std::string where = prepared.memory();
  std::string message = fmt::format("cannot load {}: it takes at least {}, {} are available{}", place.model.info.name, size(least), size(available), where.empty() ? "" : " in the memory of " + where);
  const bool would_fit = least <= available + held_bytes;
  if (!held.empty()) message += fmt::format("; loaded: {}{}", held, would_fit ? ", of which unloading makes room" : "");
  if (const std::string advice = prepared.advice(available); !advice.empty()) message += "; " + advice;
  return {would_fit ? Code::overloaded : Code::too_large, message};
}
