# shellcheck shell=sh
# Weights in files of several forms, each with its own tensor table: head.onnx with its external data, a.safetensors, a.gguf.
base64 -d > head.onnx <<'MODEL'
CAkSADrJAQoSCgF4CgF3CgFiEgF5IgRHZW1tEgRoZWFkKkMIBAgIEAFCAXdqGgoIbG9jYXRpb24SDmhlYWQub25ueC5kYXRhagsK
Bm9mZnNldBIBMGoNCgZsZW5ndGgSAzEyOHABKkIICBABQgFiahoKCGxvY2F0aW9uEg5oZWFkLm9ubnguZGF0YWoNCgZvZmZzZXQS
AzEyOGoMCgZsZW5ndGgSAjMycAFaEQoBeBIMCgoIARIGCgAKAggEYhEKAXkSDAoKCAESBgoACgIICEIECgAQEQ==
MODEL
# 160 bytes: w, 4 by 8 float32, and b, 8 float32.
for i in $(seq 100 139); do printf '%04d' "$i"; done > head.onnx.data

# Twelve bytes of float16 and four of an 8-bit float, which no tensor table supports.
header='{"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"q":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[12,16]}} '
printf "\\x$(printf '%02x' ${#header})\\0\\0\\0\\0\\0\\0\\0%s0123456789abcdef" "$header" > a.safetensors

# Version 3, two tensors, no metadata: w, 8 int8, at 0, and q, one block of q8_0, at 32. The index ends at byte 90.
{
  printf 'GGUF\3\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
  printf '\1\0\0\0\0\0\0\0w\1\0\0\0\10\0\0\0\0\0\0\0\30\0\0\0\0\0\0\0\0\0\0\0'
  printf '\1\0\0\0\0\0\0\0q\1\0\0\0\40\0\0\0\0\0\0\0\10\0\0\0\40\0\0\0\0\0\0\0'
  printf '\0\0\0\0\0\0'
  printf 'weights.'; printf '%024d' 1
  printf 'block of 34 bytes, scale and codes'
} > a.gguf
