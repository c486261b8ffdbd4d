# shellcheck shell=sh disable=SC1091
# A model for two SoCs whose binaries hold one graph each; inputs and outputs of one are described, those of the other
# are in the vendor's JSON.
. "$SETUP/soc_model.sh"
cat > described.json <<'JSON'
{
  "schema": "fatctx.manifest/1",
  "name": "model",
  "quant": {"activation_type": "uint8", "weight_type": "uint8"},
  "records": [
    {"type": "context_binary", "name": "raw", "file": "SM8550.bin",
     "target": {"backend": "htp", "part": "SM8550", "qnn_soc": 43, "arch": "v73", "sdk": "2.47"}},
    {"type": "context_binary", "name": "net", "file": "SM8650.bin",
     "target": {"backend": "htp", "part": "SM8650", "qnn_soc": 57, "arch": "v75", "sdk": "2.50"},
     "graphs": [{"name": "net",
                 "inputs": [{"name": "image", "dtype": "uint8", "shape": [1, 3, 8, 8]}],
                 "outputs": [{"name": "score", "dtype": "float32", "shape": [1, 10]}]}],
     "quant": {"io": {"net": {"image": {"scale": 0.0078125, "zero_point": 128}}}}},
    {"type": "source_model", "name": "source", "file": "source.txt"}
  ]
}
JSON
fatctx pack described.json -o model.fatctx --force > /dev/null 2>&1
cat > net.json <<'JSON'
{"info": {"buildId": "v2.47.0.250801", "graphs": [{"info": {"graphName": "net",
  "graphInputs": [{"info": {"name": "image", "dataType": "QNN_DATATYPE_UFIXED_POINT_8", "dimensions": [1, 3, 8, 8],
    "quantizeParams": {"definition": "QNN_DEFINITION_DEFINED",
      "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", "scaleOffset": {"offset": -128, "scale": 0.0078125}}}}],
  "graphOutputs": [{"info": {"name": "score", "dataType": "QNN_DATATYPE_UFIXED_POINT_8", "dimensions": [1, 10],
    "quantizeParams": {"definition": "QNN_DEFINITION_UNDEFINED"}}}]}}]}}
JSON
