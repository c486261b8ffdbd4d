// A container in an OCI registry, as a source of bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/source/byte_source.h"
#include "tools/source/oci_reference.h"

namespace fatctx::tools {

// Reads the manifest, and opens its blobs as one file. The digest of the manifest is checked; the bytes of the blobs
// are checked by the reader of the container. toc_sha256() is what the manifest says. Errors: those of
// parse_oci_reference, of OciRegistry, of container_blobs and of open_blob_source.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_oci_source(const std::string& reference,
                                                                  const HttpOptions& options);
// Hands all bytes of the container, or of the update or block index, to `take`, in order, and compares each blob with
// its digest. Errors: also checksum_mismatch.
[[nodiscard]] Status stream_whole_oci(const std::string& reference, const TakeBytes& take, const HttpOptions& options);

// An update or a block index in the registry, beside a container.
struct OciBeside {
  std::string reference;  // names its manifest by digest; empty: there is none
  std::uint64_t size = 0;
};
// Looks for the smallest artifact of a type whose subject is the container that the reference names. `from`: the old
// container of an update, "UUID-GENERATION"; empty: any. Counts its requests. Errors: those of OciRegistry.
[[nodiscard]] Result<OciBeside> find_oci_beside(const std::string& reference, std::string_view artifact_type,
                                                const std::string& from, const HttpOptions& options,
                                                std::uint64_t& requests);

}  // namespace fatctx::tools
