#include "support/rivals.h"

#include <cstring>

#include <nlohmann/json.hpp>

#include "fatctx/base/little_endian.h"
#include "support/or_stop.h"

namespace fatctx::bench {
namespace {

// The parts of ZIP that a reader of stored entries needs; APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16.
struct ZipLocal {
  le32 signature;
  le16 version, flags, method, time, date;
  le32 crc, stored_size, size;
  le16 name_size, extra_size;
};
static_assert(sizeof(ZipLocal) == 30);
struct ZipCentral {
  le32 signature;
  le16 made_by, version, flags, method, time, date;
  le32 crc, stored_size, size;
  le16 name_size, extra_size, comment_size, disk, internal;
  le32 external, local_offset;
};
static_assert(sizeof(ZipCentral) == 46);
struct ZipEnd {
  le32 signature;
  le16 disk, directory_disk, entries_here, entries;
  le32 directory_size, directory_offset;
  le16 comment_size;
};
static_assert(sizeof(ZipEnd) == 22);
constexpr std::uint32_t kZipLocal = 0x04034b50;
constexpr std::uint32_t kZipCentral = 0x02014b50;
constexpr std::uint32_t kZipEnd = 0x06054b50;

// As in iree/schemas/parameter_archive.h.
struct IrpaRange {
  le64 offset, size;
};
struct IrpaFileHeader {
  le32 magic;
  le16 major, minor;
  le64 header_size, next_header, flags, entry_count;
  IrpaRange entries, metadata, storage;
};
static_assert(sizeof(IrpaFileHeader) == 88);
struct IrpaDataEntry {
  le64 entry_size;
  le32 type;
  le64 flags;
  IrpaRange name, metadata;
  le64 alignment;
  IrpaRange storage;
};
static_assert(sizeof(IrpaDataEntry) == 76);
constexpr std::uint32_t kIrpaMagic = 0x41505249;  // "IRPA"
constexpr std::uint32_t kIrpaData = 2;

template <typename T>
T copy_from(ByteView bytes, std::uint64_t offset) {
  if (!within({offset, sizeof(T)}, bytes.size())) stop("a rival's file is cut");
  T copy;
  std::memcpy(&copy, bytes.data() + offset, sizeof(T));
  return copy;
}

std::string_view text_from(ByteView bytes, std::uint64_t offset, std::uint64_t size) {
  if (!within({offset, size}, bytes.size())) stop("a rival's file is cut");
  return {reinterpret_cast<const char*>(bytes.data()) + offset, static_cast<std::size_t>(size)};
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// A CRC-32 of ZIP, eight bytes per step.
class Crc32 {
 public:
  void update(ByteView bytes) {
    const auto& table = tables();
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), sizeof(word));  // the bench runs on little-endian hosts only
      word ^= state_;
      state_ = 0;
      for (std::size_t i = 0; i < 8; ++i) state_ ^= table[7 - i][(word >> (8 * i)) & 0xff];
    }
    for (const std::byte byte : bytes) {
      state_ = (state_ >> 8) ^ table[0][(state_ ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    }
  }
  [[nodiscard]] std::uint32_t value() const noexcept { return ~state_; }

 private:
  using Tables = std::array<std::array<std::uint32_t, 256>, 8>;
  static const Tables& tables() {
    static const Tables made = [] {
      Tables t = {};
      for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
        t[0][i] = crc;
      }
      for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
      }
      return t;
    }();
    return made;
  }
  std::uint32_t state_ = ~0U;
};

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void copy_entry(const RivalEntry& entry, RawOutput& out, std::span<std::byte> buffer,
                const std::function<void(ByteView)>& use = {}) {
  const mapping::UniqueFd source = open_raw(entry.source);
  read_in_pieces(source, {entry.source_offset, entry.size}, buffer, [&](ByteView piece) {
    if (use) use(piece);
    out.write(piece);
  });
}

void write_text(RawOutput& out, std::string_view text) { out.write(std::as_bytes(std::span(text))); }

void pad(RawOutput& out, std::uint64_t unit) {
  const std::string zeros(static_cast<std::size_t>(align_up(out.size(), unit) - out.size()), '\0');
  write_text(out, zeros);
}

// A parser of {"name": {"dtype": "U8", "shape": [n], "data_offsets": [begin, end]}, ...} that builds no tree.
class SafetensorsHeader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Found = std::function<void(std::string name, std::uint64_t begin, std::uint64_t end)>;
  explicit SafetensorsHeader(Found found) : found_(std::move(found)) {}
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_offsets_ && offset_count_ < 2) offsets_[offset_count_] = value;
    offset_count_ += in_offsets_ ? 1 : 0;
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    ++depth_;
    return true;
  }
  bool key(string_t& text) override {
    if (depth_ == 1)
      name_ = std::move(text);
    else
      in_offsets_ = text == "data_offsets";
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) {
      if (offset_count_ != 2) return false;
      found_(std::move(name_), offsets_[0], offsets_[1]);
      offset_count_ = 0;
    }
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override {
    in_offsets_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  Found found_;
  std::string name_;
  int depth_ = 0;
  bool in_offsets_ = false;
  std::size_t offset_count_ = 0;
  std::array<std::uint64_t, 2> offsets_ = {};
};

}  // namespace

void write_safetensors(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                       bool sync) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  // Names are unique. operator[] would search for each of them.
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  std::uint64_t at = 0;
  for (const RivalEntry& entry : entries) {
    members.push_back(
        {entry.name,
         nlohmann::ordered_json{{"dtype", "U8"}, {"shape", {entry.size}}, {"data_offsets", {at, at + entry.size}}}});
    at += entry.size;
  }
  std::string text = header.dump();
  text.resize(static_cast<std::size_t>(align_up(text.size(), 8)), ' ');
  std::string start;
  le64 size;
  size = text.size();
  append(start, size);
  RawOutput out(path);
  write_text(out, start + text);
  for (const RivalEntry& entry : entries) copy_entry(entry, out, buffer);
  out.close(sync);
}

void write_stored_zip(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                      bool sync) {
  constexpr std::uint64_t kAlignment = 4096;
  RawOutput out(path);
  std::string directory;
  for (const RivalEntry& entry : entries) {
    const std::uint64_t start = out.size();
    ZipLocal local = {};
    local.signature = kZipLocal;
    local.version = 10;
    local.stored_size = static_cast<std::uint32_t>(entry.size);
    local.size = static_cast<std::uint32_t>(entry.size);
    local.name_size = static_cast<std::uint16_t>(entry.name.size());
    const std::uint64_t bare = start + sizeof(local) + entry.name.size();
    local.extra_size = static_cast<std::uint16_t>(align_up(bare, kAlignment) - bare);
    std::string head;
    append(head, local);
    head += entry.name;
    head.resize(head.size() + local.extra_size);
    write_text(out, head);
    Crc32 crc;
    copy_entry(entry, out, buffer, [&](ByteView piece) { crc.update(piece); });
    local.crc = crc.value();
    out.write_over(start, std::as_bytes(std::span(&local, 1)));
    ZipCentral central = {};
    central.signature = kZipCentral;
    central.version = 10;
    central.crc = crc.value();
    central.stored_size = static_cast<std::uint32_t>(entry.size);
    central.size = static_cast<std::uint32_t>(entry.size);
    central.name_size = static_cast<std::uint16_t>(entry.name.size());
    central.local_offset = static_cast<std::uint32_t>(start);
    append(directory, central);
    directory += entry.name;
  }
  ZipEnd end = {};
  end.signature = kZipEnd;
  end.entries_here = static_cast<std::uint16_t>(entries.size());
  end.entries = static_cast<std::uint16_t>(entries.size());
  end.directory_size = static_cast<std::uint32_t>(directory.size());
  end.directory_offset = static_cast<std::uint32_t>(out.size());
  append(directory, end);
  write_text(out, directory);
  out.close(sync);
}

void write_irpa(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer, bool sync) {
  constexpr std::uint64_t kAlignment = 64;
  constexpr std::uint64_t kEntryUnit = 80;  // entries start on 16 bytes
  std::string table;
  std::string names;
  std::uint64_t at = 0;
  for (const RivalEntry& entry : entries) {
    IrpaDataEntry disk = {};
    disk.entry_size = sizeof(disk);
    disk.type = kIrpaData;
    disk.name.offset = names.size();
    disk.name.size = entry.name.size();
    disk.alignment = kAlignment;
    disk.storage.offset = at;
    disk.storage.size = entry.size;
    append(table, disk);
    table.resize(table.size() + kEntryUnit - sizeof(disk));
    names += entry.name;
    at = align_up(at + entry.size, kAlignment);
  }
  IrpaFileHeader header = {};
  header.magic = kIrpaMagic;
  header.header_size = sizeof(header);
  header.entry_count = entries.size();
  header.entries.offset = align_up(sizeof(header), kAlignment);
  header.entries.size = table.size();
  header.metadata.offset = align_up(header.entries.offset + table.size(), kAlignment);
  header.metadata.size = names.size();
  header.storage.offset = align_up(header.metadata.offset + names.size(), 4096);
  header.storage.size = at;
  RawOutput out(path);
  out.write(std::as_bytes(std::span(&header, 1)));
  pad(out, kAlignment);
  write_text(out, table);
  pad(out, kAlignment);
  write_text(out, names);
  pad(out, 4096);
  for (const RivalEntry& entry : entries) {
    copy_entry(entry, out, buffer);
    pad(out, kAlignment);
  }
  out.close(sync);
}

ByteView RivalFile::checked(std::uint64_t offset, std::uint64_t size) const {
  const ByteView all = map_->bytes();
  if (!within({offset, size}, all.size())) stop("an entry leaves a rival's file");
  return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

ByteView RivalFile::find(std::string_view name) const {
  if (!owned_.empty()) {
    const auto found = owned_.find(name);
    if (found == owned_.end()) stop("a rival's file lacks an entry");
    return found->second;
  }
  const auto found = index_.find(name);
  if (found == index_.end()) stop("a rival's file lacks an entry");
  if (!starts_with_local_header_) return found->second;
  const auto start = static_cast<std::uint64_t>(found->second.data() - map_->bytes().data());
  const auto local = copy_from<ZipLocal>(map_->bytes(), start);
  if (local.signature != kZipLocal) stop("a rival's entry is damaged");
  return checked(start + sizeof(local) + local.name_size + local.extra_size, found->second.size());
}

RivalFile RivalFile::open_safetensors(const std::string& path) {
  RivalFile file(path);
  const ByteView all = file.map_->bytes();
  const std::uint64_t header_size = copy_from<le64>(all, 0);
  const std::string_view text = text_from(all, sizeof(le64), header_size);
  const std::uint64_t data = sizeof(le64) + header_size;
  SafetensorsHeader header([&](std::string name, std::uint64_t begin, std::uint64_t end) {
    if (end < begin) stop("a rival's file is damaged");
    file.owned_.emplace(std::move(name), file.checked(data + begin, end - begin));
  });
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &header)) stop("a rival's header is damaged");
  return file;
}

RivalFile RivalFile::open_stored_zip(const std::string& path) {
  RivalFile file(path);
  const ByteView all = file.map_->bytes();
  const auto end = copy_from<ZipEnd>(all, all.size() - sizeof(ZipEnd));  // without a comment
  if (end.signature != kZipEnd) stop("a rival's file has no directory");
  file.starts_with_local_header_ = true;
  file.index_.reserve(end.entries);
  std::uint64_t at = end.directory_offset;
  for (std::uint32_t i = 0; i < end.entries; ++i) {
    const auto central = copy_from<ZipCentral>(all, at);
    if (central.signature != kZipCentral || central.method != 0) stop("a rival's directory is damaged");
    const std::string_view name = text_from(all, at + sizeof(central), central.name_size);
    file.index_.emplace(name, file.checked(central.local_offset, central.size));
    at += sizeof(central) + central.name_size + central.extra_size + central.comment_size;
  }
  return file;
}

RivalFile RivalFile::open_irpa(const std::string& path) {
  RivalFile file(path);
  const ByteView all = file.map_->bytes();
  const auto header = copy_from<IrpaFileHeader>(all, 0);
  if (header.magic != kIrpaMagic) stop("a rival's file has no magic");
  const ByteView metadata = file.checked(header.metadata.offset, header.metadata.size);
  file.index_.reserve(static_cast<std::size_t>(std::uint64_t{header.entry_count}));
  std::uint64_t at = header.entries.offset;
  for (std::uint64_t i = 0; i < header.entry_count; ++i) {
    const auto entry = copy_from<IrpaDataEntry>(all, at);
    if (entry.type != kIrpaData || !within({entry.storage.offset, entry.storage.size}, header.storage.size)) {
      stop("a rival's entry is damaged");
    }
    const std::string_view name = text_from(metadata, entry.name.offset, entry.name.size);
    file.index_.emplace(name, file.checked(header.storage.offset + entry.storage.offset, entry.storage.size));
    at += align_up(entry.entry_size, 16);
  }
  return file;
}

}  // namespace fatctx::bench
