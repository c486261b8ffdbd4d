#include "mapping/owner_only_win32.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/unique_handle.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

#include <aclapi.h>
#include <sddl.h>

namespace fatctx::mapping {
namespace {

using SidBytes = std::array<std::byte, SECURITY_MAX_SID_SIZE>;

struct FreeLocal {
  void operator()(void* memory) const noexcept { (void)::LocalFree(memory); }
};

// Returns the bytes of a TOKEN_USER, which begins with a pointer to a SID behind it.
Result<std::vector<std::byte>> token_user() {
  HANDLE opened = nullptr;
  if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &opened) == 0)
    return last_os_error("cannot ask for the user");
  const UniqueHandle token(opened);
  DWORD size = 0;
  (void)::GetTokenInformation(token.get(), TokenUser, nullptr, 0, &size);
  std::vector<std::byte> user(size);  // aligned as operator new aligns
  if (::GetTokenInformation(token.get(), TokenUser, user.data(), size, &size) == 0) {
    return last_os_error("cannot ask for the user");
  }
  return user;
}

PSID sid_of(std::span<std::byte> user) noexcept { return reinterpret_cast<TOKEN_USER*>(user.data())->User.Sid; }

bool is_well_known(PSID account, WELL_KNOWN_SID_TYPE type) noexcept { return ::IsWellKnownSid(account, type) != 0; }

// These can take any file of the system. The last two mean the owner, whose account is checked on its
// own.
bool is_above_lists(PSID account) noexcept {
  return is_well_known(account, WinLocalSystemSid) || is_well_known(account, WinBuiltinAdministratorsSid) ||
         is_well_known(account, WinCreatorOwnerSid) || is_well_known(account, WinCreatorOwnerRightsSid);
}

// Returns the name of an account, or its number if nobody knows a name.
std::string name_of(PSID account) {
  std::array<wchar_t, 256> name{};
  std::array<wchar_t, 256> domain{};
  auto name_size = static_cast<DWORD>(name.size());
  auto domain_size = static_cast<DWORD>(domain.size());
  SID_NAME_USE use = SidTypeUnknown;
  if (::LookupAccountSidW(nullptr, account, name.data(), &name_size, domain.data(), &domain_size, &use) != 0) {
    return utf8_text({name.data(), name_size});
  }
  wchar_t* text = nullptr;
  if (::ConvertSidToStringSidW(account, &text) == 0) return "an unknown account";
  const std::unique_ptr<wchar_t, FreeLocal> owner(text);
  return utf8_text(text);
}

// Rights that show or change content. The others, such as reading attributes, give nothing away.
constexpr DWORD kRights = FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_EXECUTE | FILE_DELETE_CHILD |
                          DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL | GENERIC_READ | GENERIC_WRITE |
                          GENERIC_EXECUTE;

struct Security {
  std::vector<std::byte> user;  // the account that this process runs as
  std::unique_ptr<void, FreeLocal> descriptor;
  PSID owner = nullptr;
  ACL* list = nullptr;  // null: everybody may do everything
};

Result<Security> security_of(void* handle) {
  Security security;
  FATCTX_ASSIGN(security.user, token_user());
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const DWORD failed = ::GetSecurityInfo(handle, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                                         &security.owner, nullptr, &security.list, nullptr, &descriptor);
  if (failed != ERROR_SUCCESS) return os_error(static_cast<int>(failed), "cannot look at the access list");
  security.descriptor.reset(descriptor);
  return security;
}

// Elevated programs make files that belong to the administrators.
bool is_own(Security& security) noexcept {
  PSID const owner = security.owner;
  return owner != nullptr &&
         (::EqualSid(owner, sid_of(security.user)) != 0 || is_well_known(owner, WinBuiltinAdministratorsSid) ||
          is_well_known(owner, WinLocalSystemSid));
}

}  // namespace

struct OwnerOnly::Parts {
  std::vector<std::byte> user;
  std::vector<std::byte> list;
  SECURITY_DESCRIPTOR descriptor = {};
  SECURITY_ATTRIBUTES attributes = {};
};

OwnerOnly::OwnerOnly(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
OwnerOnly::OwnerOnly(OwnerOnly&& other) noexcept = default;
OwnerOnly& OwnerOnly::operator=(OwnerOnly&& other) noexcept = default;
OwnerOnly::~OwnerOnly() = default;

void* OwnerOnly::attributes() noexcept { return &parts_->attributes; }

Result<OwnerOnly> OwnerOnly::make() {
  auto parts = std::make_unique<Parts>();
  FATCTX_ASSIGN(parts->user, token_user());
  PSID const user = sid_of(parts->user);
  const DWORD size = sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + ::GetLengthSid(user);
  parts->list.resize(size);
  auto* const list = reinterpret_cast<ACL*>(parts->list.data());
  SECURITY_DESCRIPTOR& descriptor = parts->descriptor;
  if (::InitializeAcl(list, size, ACL_REVISION) == 0 ||
      ::AddAccessAllowedAceEx(list, ACL_REVISION, OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE, FILE_ALL_ACCESS, user) ==
          0 ||
      ::InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION) == 0 ||
      ::SetSecurityDescriptorOwner(&descriptor, user, FALSE) == 0 ||
      ::SetSecurityDescriptorDacl(&descriptor, TRUE, list, FALSE) == 0 ||
      ::SetSecurityDescriptorControl(&descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED) == 0) {
    return last_os_error("cannot make an access list");
  }
  parts->attributes = {sizeof(SECURITY_ATTRIBUTES), &descriptor, FALSE};
  return OwnerOnly(std::move(parts));
}

Result<bool> belongs_to_this_user(void* handle) {
  FATCTX_ASSIGN(Security security, security_of(handle));
  return is_own(security);
}

Result<std::string> stranger_with_access(void* handle) {
  FATCTX_ASSIGN(Security security, security_of(handle));
  if (security.owner == nullptr) return std::string("an unknown owner");
  if (!is_own(security)) return name_of(security.owner);
  PSID const user = sid_of(security.user);
  ACL* const list = security.list;
  if (list == nullptr) return std::string("everybody");
  for (DWORD i = 0; i < list->AceCount; ++i) {
    void* entry = nullptr;
    if (::GetAce(list, i, &entry) == 0) return last_os_error("cannot look at the access list");
    const auto* const head = static_cast<const ACE_HEADER*>(entry);
    if (head->AceType == ACCESS_DENIED_ACE_TYPE) continue;  // only takes rights away
    if (head->AceType != ACCESS_ALLOWED_ACE_TYPE) return std::string("an entry of an unknown kind");
    auto* const allowed = static_cast<ACCESS_ALLOWED_ACE*>(entry);
    PSID const account = &allowed->SidStart;
    if ((allowed->Mask & kRights) == 0 || ::EqualSid(account, user) != 0 || is_above_lists(account)) continue;
    return name_of(account);
  }
  return std::string();
}

}  // namespace fatctx::mapping
