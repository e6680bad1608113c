// What reads files and command lines, given any bytes: it accepts them or refuses them with a sentence, and
// neither crashes nor takes at once more than four times the memory of the file.
//
//   readers KIND FILE...   reads each file as KIND: safetensors, idx, text, pieces, options, manifest, index
//
// With libFuzzer (tests/fuzz/run.sh) the kind is the end of the program's name, and it invents the files.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#include <meshtf/data/idx.hpp>
#include <meshtf/data/piece_model.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/several_files_reader.hpp>
#include <meshtf/io/step_folder_reader.hpp>

#include "../../examples/language_model_options.hpp"

namespace {

/// The most bytes that were asked for at once.
std::size_t max_at_once = 0;

void* allocated(std::size_t n) {
  if (n > max_at_once) max_at_once = n;
  return std::malloc(n > 0 ? n : 1);
}

}  // namespace

void* operator new(std::size_t n) {
  void* const memory = allocated(n);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}
// libstdc++'s calls the one above, and that of the address sanitizer does not: libFuzzer itself uses it.
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return allocated(n); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

/// A file of these bytes that nobody sees.
class file_of {
public:
  explicit file_of(std::string_view bytes) : number_{memfd_create("fuzz", 0)} {
    if (number_ < 0 || write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~file_of() { close(number_); }
  file_of(file_of const&)        = delete;
  void operator=(file_of const&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

private:
  int number_;
};

void read_safetensors(std::string_view bytes) {
  file_of const file{bytes};
  meshtf::safetensors_reader const reader{file.path()};
  std::uint64_t read = 0;
  for (auto const& [name, array] : reader.header().arrays) {
    std::vector<char> elements(array.end - array.begin);
    reader.read(array, elements.data());
    read += elements.size();
  }
  if (read > bytes.size()) std::abort();  // arrays don't overlap
  reader.verify();
}

void read_idx(std::string_view bytes) {
  file_of const file{bytes};
  for (int rank = 1; rank <= 3; ++rank) {
    try {
      auto const read        = meshtf::read_idx(file.path(), rank);
      meshtf::extent product = 1;
      for (auto const n : read.extents) product *= n;
      if (product != static_cast<meshtf::extent>(read.bytes.size())) std::abort();
    } catch (meshtf::error const&) {
    }
  }
}

void read_text(std::string_view bytes) {
  file_of const file{bytes};
  auto const text = meshtf::read_text(file.path());
  if (text.bytes != bytes) std::abort();
  auto const parts = meshtf::split_text(text);
  if (parts.training.bytes.size() + parts.held_out.bytes.size() != bytes.size()) std::abort();
}

void read_pieces(std::string_view bytes) { meshtf::detail::check_piece_model("fuzz", bytes); }

void read_options(std::string_view bytes) {
  std::vector<std::string> words{"language_model"};
  for (char const c : bytes) {
    if (c == '\n') words.emplace_back();
    else if (c != '\0') words.back() += c;
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size());
  for (auto& word : words) arguments.push_back(word.data());
  ::read_options(static_cast<int>(arguments.size()), arguments.data(), {"data", "mixed"}, "tiny", "gpt2", 60);
}

/// A folder with these files, gone at the end.
class folder_of {
public:
  struct file {
    std::string name;
    std::string bytes;
  };
  explicit folder_of(std::vector<file> const& files) {
    std::filesystem::create_directories(path_);
    for (auto const& f : files) std::ofstream{path_ / f.name, std::ios::binary} << f.bytes;
  }
  ~folder_of() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder_of(folder_of const&)      = delete;
  void operator=(folder_of const&) = delete;
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("meshtf_fuzz_" + std::to_string(getpid()));
};

/// A safetensors file of this header and `n` bytes 0.
std::string safetensors_of(std::string const& header, std::size_t n) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i);
  return bytes + header + std::string(n, '\0');
}

/// Reads all of each array of at most `most` bytes.
void read_all(auto const& reader) {
  std::vector<std::vector<char>> storages;
  std::vector<meshtf::detail::stored_array> wanted;
  std::vector<std::int32_t> numbers;
  constexpr std::uint64_t most = std::uint64_t{1} << 16;
  for (auto const& [name, array] : reader.header().arrays) {
    auto const own      = meshtf::detail::bytes_of_type(array.type);
    std::uint64_t bytes = own;
    for (auto const n : array.extents)
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes)) bytes = most + 1;
    if (bytes > most || own == 0) continue;
    auto const n = static_cast<meshtf::extent>(bytes / own);
    wanted.push_back({name,
                      array,
                      own,
                      array.extents,
                      {std::vector<meshtf::extent>(array.extents.size()), array.extents, 0, n}});
    numbers.push_back(static_cast<std::int32_t>(array.begin));
    wanted.back().data = storages.emplace_back(bytes).data();
  }
  reader.read(wanted, numbers);
}

/// The bytes up to the manifest's own hash, and the right hash: damage is found by that, and what it is not
/// of is to be read too.
void read_manifest(std::string_view bytes) {
  using meshtf::detail::chunk_hash;
  static folder_of const folder{{{"part-00000-of-00001.safetensors", std::string(300, '\0')}}};
  std::string text{bytes};
  for (bool const mended : {false, true}) {
    constexpr std::string_view key = ",\"manifest_hash\":\"";
    auto const end                 = text.rfind(key);
    if (mended && end == text.npos) return;
    if (mended) {
      auto const kind = text.find("\"hash\":\"xxh3\"") < end ? chunk_hash::xxh3 : chunk_hash::crc32;
      text =
          text.substr(0, end) + std::string{key} + meshtf::detail::hash_of(text.data(), end, kind) + "\"}\n";
    }
    try {
      meshtf::detail::step_folder_reader const reader{folder.path(), text, "fetch it again"};
      reader.verify(0, 1);
      read_all(reader);
    } catch (meshtf::error const& refused) {
      if (mended || std::string_view{refused.what()}.find('\n') != std::string_view::npos) throw;
    }
  }
}

void read_index(std::string_view bytes) {
  static folder_of const folder{
      {{"a.safetensors", safetensors_of(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24)},
       {"b.safetensors",
        safetensors_of(
            R"({"b":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}, "c":{"dtype":"F64","shape":[],"data_offsets":[4,12]}})",
            12)}}};
  constexpr std::uint64_t longest = std::uint64_t{1} << 20;
  meshtf::detail::several_files_reader const reader{folder.path() + "/model.safetensors.index.json",
                                                    std::string{bytes}, "fetch it again", longest};
  reader.verify(0, 1, longest);
  read_all(reader);
}

constexpr std::size_t tables  = std::size_t{1} << 14;        // of jansson, and messages
constexpr std::size_t reading = (std::size_t{1} << 20) + 1;  // a buffer for the next bytes of a file

struct kind {
  std::string_view name;
  void (*read)(std::string_view bytes);
  std::size_t fixed  = tables;  // the most bytes at once that no file decides
  std::size_t packed = 1;       // the most bytes that one of the file stands for
};
constexpr kind kinds[]{{"safetensors", read_safetensors, reading},
                       {"idx", read_idx, reading, 1032},  // of deflate
                       {"text", read_text, reading},
                       {"pieces", read_pieces},
                       {"options", read_options},
                       {"manifest", read_manifest},
                       {"index", read_index, reading}};

kind const* kind_of(std::string_view name) {
  for (auto const& k : kinds)
    if (name.ends_with(k.name)) return &k;
  std::fprintf(stderr, "expected safetensors, idx, text, pieces, options, manifest or index, got %s\n",
               name.data());
  std::exit(64);
}

/// Whether the bytes were accepted. Whatever is thrown but the library's errors ends the program, and so does
/// too much memory.
bool accepts(kind const& k, std::string_view bytes) {
  struct limit {
    std::size_t most;
    ~limit() {
      if (max_at_once <= most) return;
      std::fprintf(stderr, "expected at most %zu bytes to be asked for at once, got %zu\n", most,
                   max_at_once);
      std::abort();
    }
  } const here{4 * bytes.size() * k.packed + k.fixed};
  max_at_once = 0;
  try {
    k.read(bytes);
    return true;
  } catch (meshtf::error const& refused) {
    if (std::string_view{refused.what()}.find('\n') != std::string_view::npos) std::abort();  // one line
    return false;
  }
}

}  // namespace

#ifdef MESHTF_LIBFUZZER

namespace {
kind const* chosen = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  json_set_alloc_funcs(allocated, std::free);
  chosen = kind_of((*argv)[0]);
  return 0;
}
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  accepts(*chosen, {reinterpret_cast<char const*>(data), size});
  return 0;
}

#else

int main(int argc, char** argv) {
  json_set_alloc_funcs(allocated, std::free);
  auto const& k = *kind_of(argc > 1 ? argv[1] : "nothing");
  int accepted  = 0;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file{argv[i], std::ios::binary};
    if (!file) return 66;
    std::string const bytes{std::istreambuf_iterator<char>{file}, {}};
    accepted += accepts(k, bytes) ? 1 : 0;
  }
  std::printf("%d of %d accepted as %s\n", accepted, argc - 2, k.name.data());
}

#endif
