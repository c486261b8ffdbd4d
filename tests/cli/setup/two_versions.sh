# shellcheck shell=sh disable=SC1091
# old.fatctx, and new.fatctx with these changes: another bias, one binary rebuilt, one removed, one renamed, one added,
# another option.
. "$SETUP/inputs.sh"
fatctx pack manifest.json -o old.fatctx > /dev/null
printf 'bias: new bytes.' | dd of=tiny.weights bs=1 seek=128 conv=notrunc status=none
echo "a better program for v3" > tiny_v3.bin
echo "more" > more.txt
"$PYTHON" - <<'PYTHON'
import re
text = open("manifest.json").read()
text = text.replace('"name": "tiny-x86-64-v4"', '"name": "tiny-best"').replace('"value": "3"', '"value": "2"')
text = re.sub(r'\{\s*"type": "context_binary", "name": "tiny-x86-64-v2".*?\n    \},\n', "", text, flags=re.DOTALL)
text = text.replace('{"type": "opaque", "name": "license"', '{"type": "opaque", "name": "more", "file": "more.txt"},\n'
                    '    {"type": "opaque", "name": "license"')
open("manifest.json", "w").write(text)
PYTHON
fatctx pack manifest.json -o new.fatctx > /dev/null
