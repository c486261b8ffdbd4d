# shellcheck shell=sh
# The key pair release.key, release.pub of a published test vector, used only to sign tests.
printf 'fatctx-secret-key-v1 %s\n' 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60 > release.key
chmod 600 release.key
printf 'fatctx-public-key-v1 %s\n' d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a > release.pub
