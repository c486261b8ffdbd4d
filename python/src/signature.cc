#include "signature.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "errors.h"
#include "fatctx/record.h"
#include "fatctx/signature.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

PublicKey key_of(const nb::bytes& raw) {
  PublicKey key;
  if (raw.size() != key.bytes.size()) {
    raise_error({ErrorCode::kInvalidArgument,
                 fmt::format("a public key of {} bytes; one has {}", raw.size(), key.bytes.size())});
  }
  std::memcpy(key.bytes.data(), raw.data(), key.bytes.size());
  return key;
}

void bind_keys(nb::module_& module) {
  nb::class_<PublicKey>(module, "PublicKey",
                        "The public half of a pair of keys. Immutable; equal keys are equal and have one hash.")
      .def(
          "__init__", [](PublicKey* self, const nb::bytes& raw) { new (self) PublicKey(key_of(raw)); }, nb::arg("raw"),
          "`raw` are its 32 bytes. Raises InvalidArgument for any other number.")
      .def_static(
          "from_text", [](const std::string& text) { return take(parse_public_key(text)); }, nb::arg("text"),
          "Reads the line of a .pub file. Raises InvalidArgument.")
      .def_prop_ro(
          "id", [](const PublicKey& self) { return to_hex(self.id()); },
          "SHA-256 of its bytes, hexadecimal: what containers and OpenReport.key_id call it.")
      .def("__bytes__", [](const PublicKey& self) { return nb::bytes(self.bytes.data(), self.bytes.size()); })
      .def("__str__", [](const PublicKey& self) { return to_text(self); })
      .def("__repr__", [](const PublicKey& self) { return fmt::format("<fatctx.PublicKey {}>", to_hex(self.id())); })
      .def("__hash__",
           [](const PublicKey& self) {
             return std::hash<std::string_view>{}(
                 {reinterpret_cast<const char*>(self.bytes.data()), self.bytes.size()});  // char may alias anything
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<KeyFiles>(module, "KeyFiles", "A pair of keys that make_keys() has written.")
      .def_prop_ro(
          "secret_path", [](const KeyFiles& self) { return path_to_str(self.secret_path); },
          nb::sig("def secret_path(self) -> str"), "File of mode 0600: anyone who can read it can sign.")
      .def_prop_ro(
          "public_path", [](const KeyFiles& self) { return path_to_str(self.public_path); },
          nb::sig("def public_path(self) -> str"))
      .def_ro("public_key", &KeyFiles::public_key)
      .def("__repr__", [](const KeyFiles& self) {
        return fmt::format("<fatctx.KeyFiles {}>", nb::cast<std::string>(nb::repr(path_to_str(self.public_path))));
      });
  module.def(
      "make_keys",
      [](nb::handle name) {
        const std::string path = path_from(name);
        return take(without_gil([&] { return make_keys(path); }));
      },
      nb::arg("name"), nb::sig("def make_keys(name: str | bytes | os.PathLike) -> KeyFiles"),
      "Makes a pair of Ed25519 keys of random bytes and writes `name`.key, which is secret and not encrypted, and\n"
      "`name`.pub.\n\n"
      "Raises Exists (nothing is replaced), FileNotFound (no such folder), NoSpace, Io.");
  module.def(
      "read_public_key",
      [](nb::handle file) {
        const std::string path = path_from(file);
        return take(without_gil([&] { return read_public_key(path); }));
      },
      nb::arg("file"), nb::sig("def read_public_key(file: str | bytes | os.PathLike) -> PublicKey"),
      "Reads a .pub file. Raises FileNotFound, InvalidArgument (it holds no key), Io.");
}

void bind_sign(nb::module_& module) {
  nb::class_<SignReport>(module, "SignReport", "A container that was signed.")
      .def_prop_ro(
          "path", [](const SignReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("uuid", &SignReport::uuid, "That of the container, as before.")
      .def_ro("generation", &SignReport::generation, "That was signed: the one after the newest of the source.")
      .def_ro("file_size", &SignReport::file_size, "Bytes.")
      .def_prop_ro("key_id", [](const SignReport& self) { return to_hex(self.key_id); })
      .def_ro("sealed", &SignReport::sealed)
      .def("__repr__", [](const SignReport& self) {
        return fmt::format("<fatctx.SignReport generation {} of {}, {} bytes{}>", self.generation, self.uuid,
                           self.file_size, self.sealed ? ", sealed" : "");
      });
  module.def(
      "sign",
      [](nb::handle path, nb::handle key, nb::handle out, bool seal, bool overwrite, nb::object progress) {
        const std::string source = path_from(path);
        const std::string secret = path_from(key);
        const std::string target = out.is_none() ? source : path_from(out);
        ProgressCall call(std::move(progress));
        const SignOptions options{.seal = seal, .overwrite = overwrite, .progress = call.callback()};
        return call.run([&] { return sign_container(source, secret, target, options); });
      },
      nb::arg("path"), nb::arg("key"), nb::arg("out") = nb::none(), nb::kw_only(), nb::arg("seal") = false,
      nb::arg("overwrite") = false, nb::arg("progress") = nb::none(),
      nb::sig("def sign(path: str | bytes | os.PathLike, key: str | bytes | os.PathLike, "
              "out: str | bytes | os.PathLike | None = None, *, seal: bool = False, overwrite: bool = False, "
              "progress: typing.Callable[[int, int], object] | None = None) -> SignReport"),
      "Writes a copy of the newest generation that is signed with the secret key in the file `key`, to `out` or in "
      "the\n"
      "place of `path`. The copy has the uuid of the container, one generation and no dead bytes. Everything is\n"
      "compared with its hash on the way; nothing damaged is signed.\n\n"
      "seal: seal it as well; a sealed container stays sealed in any case.\n"
      "overwrite: replace `out` if it is there and another file.\n"
      "progress: progress(done_bytes, total_bytes); what it raises stops the work, leaves no file and is raised.\n"
      "Raises ChecksumMismatch, what open() raises, Exists, Unsupported, LimitExceeded, Changed, Locked,\n"
      "NotRegularFile, NoSpace, Io, CommitUnknown; of the key FileNotFound, OperationNotPermitted (others than its\n"
      "owner can read it), InvalidArgument.");
}

}  // namespace

std::vector<PublicKey> trusted_keys_from(nb::handle keys) {
  std::vector<PublicKey> trusted;
  if (keys.is_none()) return trusted;
  for (const nb::handle key : nb::iter(keys)) {
    if (!nb::isinstance<PublicKey>(key)) {
      const std::string text = "trusted_keys: expected fatctx.PublicKey, found " +
                               nb::cast<std::string>(nb::repr(key)) + "; read_public_key() makes one";
      throw nb::type_error(text.c_str());
    }
    trusted.push_back(nb::cast<const PublicKey&>(key));
  }
  if (trusted.empty()) {  // it would accept any file, against the caller's intention
    raise_error({ErrorCode::kInvalidArgument, "trusted_keys without a key; leave it None to ask for no signature"});
  }
  return trusted;
}

void bind_signature(nb::module_& module) {
  bind_keys(module);
  bind_sign(module);
}

}  // namespace fatctx::python
