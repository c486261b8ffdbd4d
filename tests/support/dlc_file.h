// Hand-made archives in the shape of a DLC, for tests that read or cut them. The offsets of everything written are
// kept, so that a test can make one thing wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/irpa_file.h"

namespace fatctx::support {

class DlcWriter {
 public:
  explicit DlcWriter(bool aligned = true) : aligned_(aligned) {}
  // Applies to the entries added from now on.
  void align(bool aligned) { aligned_ = aligned; }

  void entry(const std::string& name, std::string_view data) {
    const std::size_t at = bytes_.size();
    header_at_.push_back(at);
    name_.push_back(name);
    const std::size_t shortest = at + 30 + name.size() + 44;
    const std::size_t alignment = aligned_ ? 4096 : 1;
    const std::size_t padding = (alignment - shortest % alignment) % alignment;
    bytes_.resize(shortest + padding);
    set_le<std::uint32_t>(bytes_, at, 0x04034b50);
    set_le<std::uint16_t>(bytes_, at + 4, 45);
    set_le<std::uint16_t>(bytes_, at + 12, 0x21);  // 1980-01-01
    set_le<std::uint32_t>(bytes_, at + 18, 0xffffffff);
    set_le<std::uint32_t>(bytes_, at + 22, 0xffffffff);
    set_le<std::uint16_t>(bytes_, at + 26, static_cast<std::uint16_t>(name.size()));
    set_le<std::uint16_t>(bytes_, at + 28, static_cast<std::uint16_t>(44 + padding));
    put(at + 30, name);
    const std::size_t extra = at + 30 + name.size();
    set_le<std::uint16_t>(bytes_, extra, 1);
    set_le<std::uint16_t>(bytes_, extra + 2, static_cast<std::uint16_t>(40 + padding));
    set_le<std::uint64_t>(bytes_, extra + 4, data.size());
    set_le<std::uint64_t>(bytes_, extra + 12, data.size());
    set_le<std::uint32_t>(bytes_, extra + 32, static_cast<std::uint32_t>(padding));
    set_le<std::uint32_t>(bytes_, extra + 36, static_cast<std::uint32_t>(alignment));
    data_at_.push_back(bytes_.size());
    size_.push_back(data.size());
    bytes_.resize(bytes_.size() + data.size());
    put(data_at_.back(), data);
  }
  // Adds an entry of bytes that differ from their neighbors, and from those of another `seed`.
  void entry(const std::string& name, std::size_t size, char seed) {
    std::string data(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
      data[i] = static_cast<char>((i * i * 31 + i * 7 + static_cast<std::size_t>(seed) * 101) % 255 + 1);
    }
    entry(name, data);
  }

  // Adds directory and end records. Requires: not called before.
  [[nodiscard]] std::vector<std::byte> write() {
    const std::size_t directory = bytes_.size();
    for (std::size_t i = 0; i < name_.size(); ++i) {
      const std::size_t at = bytes_.size();
      row_at_.push_back(at);
      bytes_.resize(at + 46 + name_[i].size() + 44);
      set_le<std::uint32_t>(bytes_, at, 0x02014b50);
      set_le<std::uint16_t>(bytes_, at + 4, 45);
      set_le<std::uint16_t>(bytes_, at + 6, 45);
      set_le<std::uint16_t>(bytes_, at + 14, 0x21);
      set_le<std::uint32_t>(bytes_, at + 20, 0xffffffff);
      set_le<std::uint32_t>(bytes_, at + 24, 0xffffffff);
      set_le<std::uint16_t>(bytes_, at + 28, static_cast<std::uint16_t>(name_[i].size()));
      set_le<std::uint16_t>(bytes_, at + 30, 44);
      set_le<std::uint32_t>(bytes_, at + 42, 0xffffffff);
      put(at + 46, name_[i]);
      const std::size_t extra = at + 46 + name_[i].size();
      set_le<std::uint16_t>(bytes_, extra, 1);
      set_le<std::uint16_t>(bytes_, extra + 2, 40);
      set_le<std::uint64_t>(bytes_, extra + 4, size_[i]);
      set_le<std::uint64_t>(bytes_, extra + 12, size_[i]);
      set_le<std::uint64_t>(bytes_, extra + 20, header_at_[i]);
    }
    end64_at_ = bytes_.size();
    bytes_.resize(end64_at_ + 56 + 20 + 22);
    set_le<std::uint32_t>(bytes_, end64_at_, 0x06064b50);
    set_le<std::uint64_t>(bytes_, end64_at_ + 4, 44);
    set_le<std::uint16_t>(bytes_, end64_at_ + 12, 45);
    set_le<std::uint16_t>(bytes_, end64_at_ + 14, 45);
    set_le<std::uint64_t>(bytes_, end64_at_ + 24, name_.size());
    set_le<std::uint64_t>(bytes_, end64_at_ + 32, name_.size());
    set_le<std::uint64_t>(bytes_, end64_at_ + 40, end64_at_ - directory);
    set_le<std::uint64_t>(bytes_, end64_at_ + 48, directory);
    set_le<std::uint32_t>(bytes_, end64_at_ + 56, 0x07064b50);
    set_le<std::uint64_t>(bytes_, end64_at_ + 64, end64_at_);
    set_le<std::uint32_t>(bytes_, end64_at_ + 72, 1);
    const std::size_t end = end64_at_ + 76;
    set_le<std::uint32_t>(bytes_, end, 0x06054b50);
    set_le<std::uint16_t>(bytes_, end + 8, static_cast<std::uint16_t>(name_.size()));
    set_le<std::uint16_t>(bytes_, end + 10, static_cast<std::uint16_t>(name_.size()));
    set_le<std::uint32_t>(bytes_, end + 12, static_cast<std::uint32_t>(end64_at_ - directory));
    set_le<std::uint32_t>(bytes_, end + 16, 0xffffffff);
    return bytes_;
  }

  [[nodiscard]] std::size_t header_at(std::size_t entry) const { return header_at_[entry]; }
  [[nodiscard]] std::size_t data_at(std::size_t entry) const { return data_at_[entry]; }
  // Requires: write() was called.
  [[nodiscard]] std::size_t row_at(std::size_t entry) const { return row_at_[entry]; }
  [[nodiscard]] std::size_t end64_at() const { return end64_at_; }

 private:
  void put(std::size_t at, std::string_view text) {
    if (!text.empty()) std::memcpy(bytes_.data() + at, text.data(), text.size());
  }

  bool aligned_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> name_;
  std::vector<std::size_t> header_at_;
  std::vector<std::size_t> data_at_;
  std::vector<std::size_t> size_;
  std::vector<std::size_t> row_at_;
  std::size_t end64_at_ = 0;
};

// The metadata of two SoCs that share weights, in the spelling of compilers.
inline constexpr std::string_view kTwoSocMetadata = R"({
 "header": {"timestamp": "2026-01-01 12:00:07 UTC"},
 "cacheList": [
  {"cacheName": "htp.cache.57.0", "buildId": "v2.51.0.260101120000_9", "coreApiVersion": "2.38.0",
   "contextBlobVersion": "3.3.3", "socModel": 57, "contextMetadata": {"info": {"dspArch": 75}},
   "backendId": 6, "backendApiVersion": "5.51.0", "contextBlobSize": 8000, "timestamp": "2026-01-01 12:00:00 UTC",
   "graphs": [{"info": {"graphName": "prefill", "vtcmSize": 4,
     "graphInputs": [
       {"info": {"name": "tokens", "dataType": "QNN_DATATYPE_INT_32", "dimensions": [1, 8]}},
       {"info": {"name": "image", "dataType": "QNN_DATATYPE_UFIXED_POINT_8", "dimensions": [1, 3],
         "quantizeParams": {"definition": "QNN_DEFINITION_DEFINED",
           "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
           "scaleOffset": {"scale": 0.02941391058266163, "offset": -125}}}}],
     "graphOutputs": [
       {"info": {"name": "y", "dataType": "QNN_DATATYPE_SFIXED_POINT_8", "dimensions": [1, 2],
         "quantizeParams": {"definition": "QNN_DEFINITION_DEFINED",
           "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET",
           "axisScaleOffset": {"axis": 1, "numScaleOffsets": 2,
             "scaleOffsets": [{"scale": 0.5, "offset": 0}, {"scale": 0.25, "offset": 3}]}}}}],
     "graphBlobInfo": {"info": {"spillFillBufferSize": 0, "optimizationLevel": 3, "htpDlbc": 0, "numHvxThreads": 4}},
     "graphBlobInfoV2": {"ioTensorSize": 24576, "opDataSize": 12544, "constSize": 0, "sharedWeightsSize": 12288},
     "startOpIndex": 0, "endOpIndex": 41}}, {"info": {"graphName": "decode", "vtcmSize": 8}},
              {"info": {"graphName": "extend", "vtcmSize": 2}}]},
  {"cacheName": "htp.cache.69.0", "buildId": "v2.51.0.260101120000_9", "coreApiVersion": "2.38.0",
   "contextBlobVersion": "3.3.3", "socModel": 69, "contextMetadata": {"info": {"dspArch": 79}},
   "graphs": [{"info": {"graphName": "prefill", "vtcmSize": 8}}, {"info": {"graphName": "decode", "vtcmSize": 8}}]}],
 "relations": [
  {"parent": "htp.shared.weights.0", "children": ["htp.metadata.shared_weights.0_metadata"]},
  {"parent": "htp.cache.57.0", "children": ["htp.shared.weights.0"]},
  {"parent": "htp.cache.69.0", "children": ["htp.shared.weights.0"]}],
 "note": "stays"})";

// Returns an archive of weights, their metadata, two context binaries, and the archive's metadata: entries 0 to 4.
inline DlcWriter two_socs(bool aligned = true, std::string_view metadata = kTwoSocMetadata) {
  DlcWriter writer(aligned);
  writer.entry("htp.shared.weights.0", 3 * 4096, 'w');
  writer.entry("htp.metadata.shared_weights.0_metadata", 5000, 'm');
  writer.entry("htp.cache.57.0", 2 * 4096, 'a');
  writer.entry("htp.cache.69.0", 4 * 4096, 'b');
  writer.entry("dlc.metadata2.3.0", metadata);
  return writer;
}

}  // namespace fatctx::support
