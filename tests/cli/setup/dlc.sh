# shellcheck shell=sh
# A DLC for four SoCs that share weights.
"$PYTHON" "$SETUP/../../support/dlc_archive.py" model.dlc
