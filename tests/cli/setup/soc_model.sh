# shellcheck shell=sh
# A model for two SoCs, made with two versions of an SDK, with its source model.
for chip in SM8550 SM8650; do echo "program for $chip" > "$chip.bin"; done
echo 'graph of nodes' > source.txt
cat > socs.json <<'JSON'
{
  "schema": "fatctx.manifest/1",
  "name": "model",
  "records": [
    {"type": "context_binary", "name": "model.sm8550", "file": "SM8550.bin",
     "target": {"backend": "htp", "part": "SM8550", "qnn_soc": 43, "arch": "v73", "vtcm_mb": 8, "sdk": "2.47"}},
    {"type": "context_binary", "name": "model.sm8650", "file": "SM8650.bin",
     "target": {"backend": "htp", "part": "SM8650-AC", "qnn_soc": 57, "arch": "v75", "vtcm_mb": 8, "sdk": "2.50"}},
    {"type": "source_model", "name": "source", "file": "source.txt"}
  ]
}
JSON
fatctx pack socs.json -o model.fatctx > /dev/null 2>&1
