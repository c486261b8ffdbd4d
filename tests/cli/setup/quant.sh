# shellcheck shell=sh disable=SC1091
# A quantized model for two chips (a fast and an accurate binary for one of them), with overrides, options and the model.
. "$SETUP/external.sh"
for program in fast accurate SM8550; do echo "program: $program" > "$program.bin"; done
printf '{ "Op4_out": [ {"quant_type":"QUInt16"} ] }\n' > overrides.json
cat > quant.json <<'JSON'
{
  "schema": "fatctx.manifest/1",
  "name": "net",
  "quant": {
    "weight_type": "uint8", "common_arch": "v73",
    "calibration_sha256": "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2"
  },
  "records": [
    {"type": "weight_blob", "name": "weights", "file": "head.onnx.data", "tensors": {"format": "onnx", "model": "head.onnx"}},
    {
      "type": "context_binary", "name": "fast", "file": "fast.bin", "weights": ["weights"],
      "target": {"backend": "htp", "part": "SM8650", "qnn_soc": 57, "arch": "v75", "vtcm_mb": 8, "sdk": "2.48", "variant": "fast"},
      "quant": {"activation_type": "uint8"},
      "options": [
        {"key": "soc_model", "value": "57", "owner": "QNNExecutionProvider"},
        {"key": "htp_performance_mode", "value": "burst", "owner": "QNNExecutionProvider"},
        {"key": "htp_graph_finalization_optimization_mode", "value": 3, "owner": "QNNExecutionProvider"},
        {"key": "backend_path", "value": "libQnnHtp.so", "owner": "QNNExecutionProvider"},
        {"key": "device_id", "value": 0, "owner": "QNNExecutionProvider"}
      ]
    },
    {
      "type": "context_binary", "name": "accurate", "file": "accurate.bin", "weights": ["weights"],
      "target": {"backend": "htp", "part": "SM8650", "qnn_soc": 57, "arch": "v75", "vtcm_mb": 8, "sdk": "2.48", "variant": "mixed"},
      "quant": {"activation_type": ["uint8", "uint16"], "overrides": "overrides.json"}
    },
    {
      "type": "context_binary", "name": "older", "file": "SM8550.bin", "weights": ["weights"],
      "target": {"backend": "htp", "part": "SM8550", "qnn_soc": 43, "arch": "v73", "vtcm_mb": 8},
      "quant": {"activation_type": "uint8"},
      "graphs": [{"name": "net", "inputs": [{"name": "x", "dtype": "uint8", "shape": [1, 8]}]}]
    },
    {"type": "source_model", "name": "model", "file": "head.onnx"}
  ]
}
JSON
fatctx pack quant.json -o quant.fatctx > /dev/null 2>&1
