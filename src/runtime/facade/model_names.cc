// Words for the formats of models.
#include "base/named_values.h"
#include "fatctx/model.h"

namespace fatctx {
namespace {

constexpr NamedValue<ModelFormat> kFormats[] = {
    {ModelFormat::kContainer, "container"},
    {ModelFormat::kDlc, "dlc"},
    {ModelFormat::kRawBinary, "raw_binary"},
};

constexpr NamedValue<RawBinaries> kRawBinaries[] = {
    {RawBinaries::kKnown, "known"},
    {RawBinaries::kAny, "any"},
    {RawBinaries::kRefuse, "refuse"},
};

}  // namespace

std::string_view model_format_name(ModelFormat format) noexcept { return name_in(kFormats, format); }

std::string_view raw_binaries_name(RawBinaries raw_binaries) noexcept { return name_in(kRawBinaries, raw_binaries); }

std::optional<RawBinaries> raw_binaries_from_name(std::string_view name) noexcept {
  return value_in(kRawBinaries, name);
}

}  // namespace fatctx
