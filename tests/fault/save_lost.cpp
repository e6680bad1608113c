// What is left of a save if the machine stops: save_lost FOLDER [LOST]
//
// The calls of a save are noted, and done again on paper: after each of them a folder is made that has only
// what was on disk then, at the least: the bytes of files that were there when fsync was called on them, and
// the names in folders that were there when it was called on those. And once more with all names, which a
// file system may write early. In each the newest checkpoint loads, and so does each other.
//
// Three saves: of step 3 after steps 1 and 2, of step 2 again with other values, of step 1 in a new folder.
// LOST: an fsync is left out, of a `part`, of the `manifest`, of the folder of the `step`, of that of the
// `run`, or of the one `above`, in which a new run is; then it must be seen. Status 0, and one line.
#include "forked.hpp"
#include "system_calls.hpp"
#include "training.hpp"

#include <cstdio>
#include <fstream>
#include <map>
#include <string_view>

namespace {

using system_calls::kind;
using training::net;

/// A call, as it was made.
struct noted_call {
  kind type;
  ino_t file;  // that it has made, or was given
  off_t offset;
  std::size_t n;
  char path[256];
  char to[256];
  char bytes[8192];
};

struct noted_calls {
  std::atomic<int> locked{0};
  std::atomic<int> n{0};
  noted_call all[400];
};
noted_calls* const noted = forked::share<noted_calls>();

void lock(bool begins) {
  if (begins) forked::wait_until([] { return noted->locked.exchange(1) == 0; });
  else noted->locked = 0;
}

void note(kind k, int file, char const* path, char const* to, void const* bytes, std::size_t n,
          off_t offset) {
  if (n > sizeof noted_call::bytes || noted->n == 400) std::abort();
  auto& call = noted->all[noted->n++];
  struct stat about{};
  if (file >= 0) fstat(file, &about);
  else stat(path, &about);
  call = {k, about.st_ino, offset, n, {}, {}, {}};
  std::snprintf(call.path, sizeof call.path, "%s", path);
  std::snprintf(call.to, sizeof call.to, "%s", to);
  if (n > 0) std::memcpy(call.bytes, bytes, n);
}

/// Files and folders on paper: what programs see, and what is on disk.
class disk {
public:
  struct node {
    bool is_folder = false;
    std::string bytes;
    std::string bytes_on_disk;
    std::map<std::string, ino_t> names;
    std::map<std::string, ino_t> names_on_disk;
  };

  /// What is in a folder is on disk.
  explicit disk(std::string root) : root_{std::move(root)} { first_ = read(root_); }

  void make(noted_call const& c) {
    switch (c.type) {
      case kind::open:
        if (c.path == root_) break;
        nodes_[c.file];
        if (!names_of(c.path).contains(name_of(c.path))) names_of(c.path)[name_of(c.path)] = c.file;
        break;
      case kind::make_folder:
        nodes_[c.file].is_folder          = true;
        names_of(c.path)[name_of(c.path)] = c.file;
        break;
      case kind::write: {
        auto& bytes     = nodes_[c.file].bytes;
        auto const from = static_cast<std::size_t>(c.offset);
        if (bytes.size() < from + c.n) bytes.resize(from + c.n);
        bytes.replace(from, c.n, c.bytes, c.n);
        break;
      }
      case kind::sync: {
        auto& file         = nodes_[c.file];
        file.bytes_on_disk = file.bytes;
        file.names_on_disk = file.names;
        break;
      }
      case kind::rename:
        names_of(c.to)[name_of(c.to)] = names_of(c.path)[name_of(c.path)];
        names_of(c.path).erase(name_of(c.path));
        break;
      case kind::exchange: std::swap(names_of(c.to)[name_of(c.to)], names_of(c.path)[name_of(c.path)]); break;
      case kind::remove:
      case kind::remove_folder: names_of(c.path).erase(name_of(c.path)); break;
    }
  }

  /// Makes the folder with what is on disk, at the least, or with all names.
  void put(std::string const& folder, bool all_names) const { put(first_, folder, all_names); }

private:
  ino_t read(std::filesystem::path const& path) {
    struct stat about{};
    stat(path.c_str(), &about);
    auto& made = nodes_[about.st_ino];
    if (S_ISDIR(about.st_mode)) {
      std::map<std::string, ino_t> names;
      for (auto const& entry : std::filesystem::directory_iterator{path})
        names[entry.path().filename()] = read(entry.path());
      made = {true, {}, {}, names, names};
    } else {
      std::ifstream file{path, std::ios::binary};
      std::string const bytes{std::istreambuf_iterator<char>{file}, {}};
      made = {false, bytes, bytes, {}, {}};
    }
    return about.st_ino;
  }

  static std::string name_of(std::string const& path) { return path.substr(path.rfind('/') + 1); }
  /// The names in the folder that a path is in.
  std::map<std::string, ino_t>& names_of(std::string const& path) {
    ino_t folder     = first_;
    std::size_t from = root_.size() + 1;
    for (auto to = path.find('/', from); to != path.npos; to = path.find('/', from)) {
      folder = nodes_.at(folder).names.at(path.substr(from, to - from));
      from   = to + 1;
    }
    return nodes_.at(folder).names;
  }
  void put(ino_t number, std::string const& path, bool all_names) const {
    node const& here = nodes_.at(number);
    if (!here.is_folder) {
      std::ofstream{path, std::ios::binary} << here.bytes_on_disk;
      return;
    }
    std::filesystem::create_directory(path);
    for (auto const& [name, below] : all_names ? here.names : here.names_on_disk)
      put(below, path + "/" + name, all_names);
  }

  std::string root_;
  ino_t first_ = 0;
  std::map<ino_t, node> nodes_;
};

[[noreturn]] void fail(std::string const& text) {
  std::printf("%s\n", text.c_str());
  std::exit(1);
}

enum class saves { next, again, first };

struct found {
  int folders = 0;   // that were made
  std::string text;  // what is not as promised in one of them
};

/// Whether a call is the fsync that is to be lost. `names`: the last name of each file.
bool is_lost(noted_call const& c, std::map<ino_t, std::string> const& names, std::string_view lost) {
  if (c.type != kind::sync || lost.empty()) return false;
  auto const known       = names.find(c.file);
  std::string const name = known == names.end() ? "" : known->second;
  if (lost == "part") return name.starts_with("part-");
  if (lost == "manifest") return name == "manifest.json";
  if (lost == "step") return name.find(".tmp-") != name.npos;
  return name == (lost == "run" ? "run" : "disk");
}

class trial {
public:
  trial(std::string folder, saves which) : folder_{std::move(folder)}, which_{which} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/disk");
    job([&](net& n) {
      if (which_ == saves::first) return;
      n.save_step(1, run_of("disk"));
      n.save_step(2, run_of("disk"));
    });
  }

  found run(std::string_view lost) {
    disk paper{folder_ + "/disk"};
    noted->n = 0;
    job([&](net& n) {
      auto& s            = system_calls::current;
      s.folder           = folder_;
      system_calls::note = note;
      system_calls::lock = lock;
      s.counts           = true;
      n.save_as(step(), value(), run_of("disk"));
      s.counts = false;
    });
    found all;
    std::map<ino_t, std::string> names;
    for (int i = 0; i <= noted->n && all.text.empty(); ++i) {
      // what is lost is seen late
      if (lost.empty() || i >= noted->n - 12) look(paper, i, all);
      if (i == noted->n) break;
      auto const& call = noted->all[i];
      if (call.type == kind::open || call.type == kind::make_folder)
        names[call.file] = std::string{call.path}.substr(std::string{call.path}.rfind('/') + 1);
      if (!is_lost(call, names, lost)) paper.make(call);
    }
    return all;
  }

private:
  std::uint64_t step() const {
    if (which_ == saves::first) return 1;
    return which_ == saves::next ? 3 : 2;
  }
  float value() const { return which_ == saves::again ? 20 : static_cast<float>(step()); }
  std::string run_of(std::string const& name) const { return folder_ + "/" + name + "/run"; }

  template<class F>
  static void job(F const& f) {
    int const status = forked::run_job([&] {
      system_calls::current       = {};
      system_calls::current.syncs = false;
      net n;
      f(n);
    });
    if (status != 0) fail("a job of the test has failed: " + forked::said());
  }

  /// What is on disk after i calls.
  void look(disk const& paper, int i, found& all) const {
    for (bool const all_names : {false, true}) {
      std::filesystem::remove_all(folder_ + "/left");
      paper.put(folder_ + "/left", all_names);
      ++all.folders;
      if (auto const text = objection(i == noted->n); !text.empty())
        all.text = "after call " + std::to_string(i) + (all_names ? ", with all names: " : ": ") + text;
    }
  }

  /// What is wrong with what is left.
  std::string objection(bool is_saved) const {
    std::string const run = run_of("left");
    auto names            = training::folders_in(run);
    std::erase_if(names, [](std::string const& name) { return name.find(".tmp-") != name.npos; });
    if (names.empty()) return is_saved || which_ != saves::first ? "no checkpoint is there" : "";
    int const status = forked::run_job([&] {
      system_calls::current.syncs = false;
      net n;
      for (auto const& name : names) n.load_from(run + "/" + name);
      auto const newest = n.load_from(run);
      bool const is_new = newest == step() && n.has(value());
      bool const is_old = newest == 2 && n.has(2);
      if (!is_new && !is_old) throw meshtf::software_error{"loaded step " + std::to_string(newest)};
      if (is_saved && !is_new) throw meshtf::software_error{"saved, but it is not there"};
    });
    return status == 0 ? "" : "status " + std::to_string(status) + ", " + forked::said();
  }

  std::string folder_;
  saves which_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("expected FOLDER");
  std::string_view const lost = argc > 2 ? argv[2] : "";
  int folders                 = 0;
  for (auto const which : {saves::next, saves::again, saves::first}) {
    if (lost == "above" && which != saves::first) continue;
    auto const seen = trial{argv[1], which}.run(lost);
    folders += seen.folders;
    if (lost.empty() && !seen.text.empty()) fail(seen.text);
    if (!lost.empty() && seen.text.empty()) fail("a lost fsync was not seen");
    if (!lost.empty()) std::printf("seen %s\n", seen.text.c_str());
  }
  if (lost.empty()) std::printf("%d folders that a crash leaves, and all load\n", folders);
}
