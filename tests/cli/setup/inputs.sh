# shellcheck shell=sh
# The files of a tiny model: five context binaries, the weights they share, and the manifest that packs them.
for target in v2 v3 v4 aarch64 aarch64_i8mm; do
  echo "program for $target" > "tiny_$target.bin"
done
for row in 0 1 2 3; do
  printf 'row %s of the weight matrix, 32 bytes' "$row" | head -c 32
done > tiny.weights
printf 'bias: 16 bytes..' >> tiny.weights
echo 'free for all uses' > LICENSE

cat > manifest.json <<'JSON'
// Comments are allowed.
{
  "schema": "fatctx.manifest/1",
  "name": "tiny",
  "group": "main",
  "options": {"opt-level": {"value": "3", "owner": "compiler"}},
  "records": [
    {
      "type": "weight_blob", "name": "weights", "file": "tiny.weights",
      "tensors": {
        "format": "ranges",
        "ranges": [
          {"name": "layer.0/weight", "dtype": "float32", "shape": [4, 8], "offset": 0},
          {"name": "layer.0/bias", "dtype": "float16", "shape": [8], "offset": 128}
        ]
      }
    },
    {
      "type": "context_binary", "name": "tiny-x86-64-v2", "file": "tiny_v2.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "x86-64-v2"},
      "producer": "compiler 1.0",
      "graphs": [
        {
          "name": "main",
          "inputs": [{"name": "tokens", "dtype": "int64", "shape": [1, -1]}],
          "outputs": [{"name": "embedding", "dtype": "float32", "shape": [1, 8]}]
        }
      ]
    },
    {
      "type": "context_binary", "name": "tiny-x86-64-v3", "file": "tiny_v3.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "x86-64-v3"},
      "options": {"vector-width": 8}
    },
    {
      "type": "context_binary", "name": "tiny-x86-64-v4", "file": "tiny_v4.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "x86-64-v4"}
    },
    {
      "type": "context_binary", "name": "tiny-aarch64", "file": "tiny_aarch64.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "aarch64"}
    },
    {
      "type": "context_binary", "name": "tiny-aarch64-i8mm", "file": "tiny_aarch64_i8mm.bin", "weights": ["weights"],
      "target": {"backend": "cpu", "arch": "aarch64", "features": ["dotprod", "i8mm"]}
    },
    {"type": "opaque", "name": "license", "file": "LICENSE"}
  ]
}
JSON
