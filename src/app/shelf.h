// shelf: many models behind one Completer: loaded when asked for, one at a time; gone when idle or when another needs their memory.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include "chat/chat.h"

// A model that lies on this machine, loaded or not.
struct ShelfModel {
  ModelInfo info;                                   // by what its files say; info.name is what it is listed as
  std::string path;
  std::vector<std::string> other_names{};           // under which it may be asked for too
  std::string copy_of{};                            // listed name of the model that this is another name for: they share what is loaded
  bool pinned = false;                              // stays, however idle and whoever else needs memory
  std::optional<std::chrono::seconds> keep_alive{};  // negative: for ever; unset: as the shelf does
  const std::string& place() const { return copy_of.empty() ? info.name : copy_of; }
};

// A model in memory.
class ResidentModel {
 public:
  virtual ~ResidentModel() = default;
  virtual Completer& completer() = 0;
  virtual std::string memory() const { return ""; }  // whose its bytes are: "" for the machine's, else the name of the device that has its own
  virtual size_t bytes() const = 0;                 // that come free without it
  virtual void fill_in(ChatRequest&) const {}       // what a request leaves open and the server's owner has settled
};
// A model whose files are open and whose needs are known.
class PreparedModel {
 public:
  virtual ~PreparedModel() = default;
  virtual std::string memory() const { return ""; }  // as above
  virtual size_t least_bytes() const = 0;           // without so much it cannot be loaded
  virtual std::string advice(size_t available_bytes) const = 0;  // what would fit instead, "" for nothing
  virtual Result<std::unique_ptr<ResidentModel>> load(size_t available_bytes) = 0;
};
// Where models come from. prepare and load are called by one thread, the rest by any.
class Library {
 public:
  virtual ~Library() = default;
  virtual std::vector<ShelfModel> list() = 0;       // called for every request
  virtual size_t available_bytes(const std::string& memory) = 0;  // for a further model
  virtual Result<std::unique_ptr<PreparedModel>> prepare(const ShelfModel& model) = 0;
  virtual Status pull(const std::string& name, const Completer::PullProgress& progress, std::stop_token stop) = 0;
  virtual Status remove(const ShelfModel& model) = 0;
  virtual Status copy(const ShelfModel& from, const std::string& to) = 0;
};

using ShelfClock = std::chrono::steady_clock;
struct ShelfOptions {
  std::chrono::seconds keep_alive{300};             // of idle models; negative: for ever
  int max_loaded = 0;                               // 0: as memory allows
  std::function<ShelfClock::time_point()> now = [] { return ShelfClock::now(); };
};

// The model that `asked` names: as listed, without "local/" in front or ":latest" behind, by another of its names, or by its path's last part.
const ShelfModel* find_on_shelf(std::span<const ShelfModel> models, std::string_view asked);

class Shelf final : public Completer {
 public:
  Shelf(std::unique_ptr<Library> library, ShelfOptions options);
  ~Shelf() override;  // waits for what is being loaded; nothing may be answering any more

  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) override;
  std::vector<ModelInfo> models() const override;
  Result<std::string> render(const ChatRequest& request) override;
  Result<std::vector<TokenId>> tokenize(const std::string& model, std::string_view text, bool special, bool add_bos) override;
  Result<std::string> detokenize(const std::string& model, std::span<const TokenId> ids) override;
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token stop) override;
  std::vector<ModelStats> stats() const override;
  Status load(const std::string& model, std::optional<std::chrono::seconds> keep_alive) override;
  Status unload(const std::string& model) override;
  Status pull(const std::string& model, const PullProgress& progress, std::stop_token stop) override;
  Status remove(const std::string& model) override;
  Status copy(const std::string& from, const std::string& to) override;

  bool answering() const;  // somebody uses a model
  void wake();             // looks at the clock again

 private:
  // One model's place. absent -> queued -> loading -> ready -> leaving -> absent.
  struct Place {
    enum class State : uint8_t { absent, queued, loading, ready, leaving } state = State::absent;
    ShelfModel model;
    std::unique_ptr<ResidentModel> resident;
    ModelInfo info;              // of the resident one
    int users = 0, waiters = 0;
    bool leave = false;          // nobody new; goes when its last user has gone
    std::chrono::seconds keep_alive{0};
    ShelfClock::time_point last_used;
    uint64_t attempt = 0, failed = 0, version = 0;  // loads begun, the last that failed, changes of state
    Error error;
    bool free_to_take() const { return state == State::ready && !leave; }
  };
  // A use of a loaded model; it stays while one exists.
  class Lease {
   public:
    Lease(Shelf& shelf, Place& place, bool touch) : shelf_(&shelf), place_(&place), touch_(touch) {}
    Lease(Lease&& other) noexcept : shelf_(std::exchange(other.shelf_, nullptr)), place_(other.place_), touch_(other.touch_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Completer& completer() const { return place_->resident->completer(); }
    const ResidentModel& resident() const { return *place_->resident; }

   private:
    Shelf* shelf_;
    Place* place_;
    bool touch_;  // counts as having been asked for
  };
  using Lock = std::unique_lock<std::mutex>;

  Result<ShelfModel> find(const std::string& asked) const;
  Result<Lease> acquire(const std::string& asked, const std::stop_token& stop, std::optional<std::chrono::seconds> keep_alive = std::nullopt);
  Place& place_of(const ShelfModel& model);
  void set_state(Place& place, Place::State state);

  // The shelf's own thread.
  void work();
  bool is_due(const Place& place) const;
  Place* due();
  std::optional<ShelfClock::time_point> next_expiry() const;
  void let_go(Place& place, Lock& lock);
  void fetch(Place& place, Lock& lock);
  Result<std::unique_ptr<ResidentModel>> bring(Place& place, Lock& lock);
  Status make_room(Place& place, const PreparedModel& prepared, Lock& lock);
  Place* least_recently_used(bool idle, const std::string* memory);  // of that memory; null: of any
  Error refusal(const Place& place, const PreparedModel& prepared, size_t available) const;

  const std::unique_ptr<Library> library_;
  const ShelfOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // any place, or the end
  std::map<std::string, Place> places_;  // by ShelfModel::place; places stay
  std::deque<Place*> queue_;
  bool ending_ = false;
  std::jthread thread_;
};
