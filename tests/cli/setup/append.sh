# shellcheck shell=sh disable=SC1091
# The tiny model, packed, with a binary for one more chip, and a manifest that replaces a binary and adds a record.
. "$SETUP/model.sh"
echo 'program for sve' > new.vmfb
echo 'faster program for v4' > faster.bin
cat > more.json <<'JSON'
{
  "schema": "fatctx.manifest/1",
  "name": "tiny",
  "group": "main",
  "records": [
    {
      "type": "context_binary", "name": "tiny-x86-64-v4", "file": "faster.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "x86-64-v4"}, "producer": "compiler 2.0"
    },
    {"type": "opaque", "name": "notes", "file": "new.vmfb"}
  ]
}
JSON
