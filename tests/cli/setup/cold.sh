# shellcheck shell=sh
# A compressible text, packed three times: as a source model, as an uncompressed source model, and as evidence.
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "node %d: MatMul\n", i % 97 }' > model.txt
cat > cold.json <<'JSON'
{
  "schema": "fatctx.manifest/1",
  "name": "cold",
  "records": [
    {"type": "source_model", "name": "model", "file": "model.txt"},
    {"type": "source_model", "name": "plain model", "file": "model.txt", "codec": "none"},
    {"type": "opaque", "name": "log", "file": "model.txt", "codec": "lz4"}
  ]
}
JSON
fatctx pack cold.json -o cold.fatctx > /dev/null
