"""Writes completions for shells from the description of the command line: completions.py COMMANDS.json FOLDER

COMMANDS.json is the output of `fatctx describe-commands`. FOLDER gets fatctx.bash, _fatctx (zsh) and fatctx.fish. They
complete commands, options, permitted values, files, and the names of the records of the container on the line.
"""

from __future__ import annotations

import json
import pathlib
import shlex
import sys

# Words for values that are no files and of which no list exists.
FREE = {"N", "SIZE", "BYTES", "KIB", "TEXT", "NAME", "VERSION", "GROUP", "N,N", "DAY", "NAME=VALUE", "RANGE", "FACTS", "ARCH", "BOOL",
        "POLICY", "PAIRS", "LIST", "TARGET", "DEVICE", "COMMAND", "WORD"}


def kind_of(option: dict, positional: bool = False) -> str:
    """Returns how a value is completed: "values a b", "records", "commands", "files", "nothing"; "" for a flag."""
    if option["type"] is None:
        return ""
    if option["values"]:
        return "values " + " ".join(option["values"])
    if option["type"] == "RECORD":
        return "records"
    if positional and option["type"] == "COMMAND":
        return "commands"
    return "nothing" if option["type"] in FREE else "files"


BASH = r"""# Completes fatctx in bash. Made from `fatctx describe-commands`; changes belong there.

# Prints how the value of an option is completed; nothing for a flag.
_fatctx_option() {
  case "$1 $2" in
@OPTION_KINDS@
  esac
}

# Prints how the n-th argument of a command is completed.
_fatctx_argument() {
  case "$1 $2" in
@ARGUMENT_KINDS@
  esac
}

_fatctx_options() {
  case $1 in
@OPTIONS@
  esac
}

_fatctx_commands='@COMMANDS@'

_fatctx() {
  local program=${COMP_WORDS[0]} command='' file='' pending='' kind='' last word cur position=1 joined=no i
  local -a words=() found=()
  # Bash cuts words at "=" and ":"; here they are whole again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    last=$((${#words[@]} - 1))
    if ((last >= 0)) && [[ $word == [=:]* && ${words[last]} != *[=:] ]]; then
      words[last]+=$word
      joined=yes
    elif ((last >= 0)) && [[ $joined == yes && ${words[last]} == *[=:] ]]; then
      words[last]+=$word
      joined=no
    else
      words+=("$word")
      joined=no
    fi
  done
  last=$((${#words[@]} - 1))
  cur=${words[last]}
  for ((i = 0; i < last; i++)); do
    word=${words[i]}
    if [[ -n $pending ]]; then
      pending=''
    elif [[ $word == -?* ]]; then
      if [[ $word != *=* && -n $(_fatctx_option "$command" "$word") ]]; then pending=$word; fi
    elif [[ -z $command ]]; then
      command=$word
    else
      if [[ -z $file && -f $word ]]; then file=$word; fi
      position=$((position + 1))
    fi
  done

  if [[ -n $pending ]]; then
    kind=$(_fatctx_option "$command" "$pending")
  elif [[ $cur == --*=* ]]; then
    kind=$(_fatctx_option "$command" "${cur%%=*}")
    cur=${cur#*=}
  elif [[ $cur == -* ]]; then
    kind="values $(_fatctx_options "$command")"
  elif [[ -z $command ]]; then
    kind=commands
  else
    kind=$(_fatctx_argument "$command" $position)
    [[ -n $kind ]] || kind=$(_fatctx_argument "$command" more)
  fi

  case $kind in
    values*) mapfile -t COMPREPLY < <(compgen -W "${kind#values }" -- "$cur") ;;
    commands) mapfile -t COMPREPLY < <(compgen -W "$_fatctx_commands" -- "$cur") ;;
    records)
      mapfile -t found < <([[ -z $file ]] || "${program/#\~/$HOME}" ls -- "$file" 2>/dev/null)
      COMPREPLY=()
      for word in "${found[@]}"; do
        if [[ $word == "$cur"* ]]; then COMPREPLY+=("$(printf '%q' "$word")"); fi
      done
      ;;
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    *) COMPREPLY=() ;;
  esac
  # Bash replaces only the part behind the last ":".
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"${cur%"${cur##*:}"}"}; done
  fi
}

complete -F _fatctx fatctx
"""


def bash(tree: dict) -> str:
    options, option_kinds, argument_kinds = [], [], []
    for command in [tree["program"], *tree["commands"]]:
        # Without a command the first word is empty.
        name = command["name"]
        longs = [word for option in command["options"] for word in option["names"] if word.startswith("--")]
        options.append(f"    {name or chr(39) * 2}) echo {shlex.quote(' '.join(longs))} ;;")
        for option in command["options"]:
            if kind_of(option):
                pattern = "|".join(f'"{name} {word}"' for word in option["names"])
                option_kinds.append(f"    {pattern}) echo {shlex.quote(kind_of(option))} ;;")
        for number, argument in enumerate(command["positionals"], start=1):
            pattern = f'"{name} {number}"' + (f'|"{name} more"' if argument["repeats"] else "")
            argument_kinds.append(f"    {pattern}) echo {shlex.quote(kind_of(argument, True))} ;;")
    return (BASH.replace("@OPTION_KINDS@", "\n".join(option_kinds)).replace("@ARGUMENT_KINDS@", "\n".join(argument_kinds))
            .replace("@OPTIONS@", "\n".join(options)).replace("@COMMANDS@", " ".join(command["name"] for command in tree["commands"])))


def zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_escaped(text: str) -> str:
    for mark in ("\\", "[", "]", ":"):
        text = text.replace(mark, "\\" + mark)
    return text


def zsh_action(option: dict, positional: bool = False) -> str:
    kind = kind_of(option, positional)
    word, _, values = kind.partition(" ")
    return {"values": f"({values})", "records": "_fatctx_records", "commands": "_fatctx_commands", "files": "_files", "nothing": " "}[word]


def zsh_specs(command: dict) -> list[str]:
    specs = []
    for option in command["options"]:
        names = option["names"]
        text = f"[{zsh_escaped(option['text'])}]"
        value = f":{zsh_escaped(option['type'])}:{zsh_action(option)}" if option["type"] is not None else ""
        for name in names:
            mark = "" if not value else ("=" if name.startswith("--") else "+")
            others = " ".join(names) if len(names) > 1 and not option["repeats"] else ""
            prefix = "*" if option["repeats"] else (f"({others})" if others else "")
            specs.append(zsh_quoted(f"{prefix}{name}{mark}{text}{value}"))
    for number, argument in enumerate(command["positionals"], start=1):
        place = "*" if argument["repeats"] else str(number) if argument["required"] else f"{number}:"
        specs.append(zsh_quoted(f"{place}:{zsh_escaped(argument['names'][0])}:{zsh_action(argument, True)}"))
    return specs


ZSH = r"""#compdef fatctx
# Completes fatctx in zsh. Made from `fatctx describe-commands`; changes belong there.

_fatctx_commands() {
  local -a commands=(
@COMMANDS@
  )
  _describe -t commands command commands
}

_fatctx_records() {
  local word file
  local -a records
  for word in ${words[2,CURRENT-1]}; do
    if [[ -f ${(Q)word} ]]; then
      file=${(Q)word}
      break
    fi
  done
  [[ -n $file ]] || return 1
  records=(${(f)"$($_fatctx_program ls -- $file 2>/dev/null)"})
  (( $#records )) && compadd -a records
}

_fatctx() {
  local curcontext=$curcontext context state state_descr line _fatctx_program=${(Q)words[1]}
  typeset -A opt_args
  _arguments -C @PROGRAM@ '1:command:_fatctx_commands' '*::argument:->argument' && return 0
  [[ $state == argument ]] || return 1
  case $words[1] in
@CASES@
  esac
}

if [[ $funcstack[1] == _fatctx ]]; then _fatctx "$@"; else compdef _fatctx fatctx; fi
"""


def zsh(tree: dict) -> str:
    commands = [f"    {zsh_quoted(zsh_escaped(command['name']) + ':' + command['purpose'])}" for command in tree["commands"]]
    cases = [f"    {command['name']}) _arguments -s -S {' '.join(zsh_specs(command))} ;;" for command in tree["commands"]]
    return (ZSH.replace("@COMMANDS@", "\n".join(commands)).replace("@CASES@", "\n".join(cases))
            .replace("@PROGRAM@", " ".join(zsh_specs(tree["program"]))))


FISH = r"""# Completes fatctx in fish. Made from `fatctx describe-commands`; changes belong there.

# True if the command is one of those named, or, without a name, if none is typed yet.
function __fatctx_command
    set -l words (commandline -opc)[2..]
    for word in $words
        if not string match -q -- '-*' $word
            contains -- $word $argv
            return
        end
    end
    test (count $argv) -eq 0
end

function __fatctx_takes_value -a command option
    switch "$command $option"
@TAKES_VALUE@
            return 0
    end
    return 1
end

# True if the word at the cursor is the n-th argument of the command, or a later one with "more".
function __fatctx_argument -a command number more
    __fatctx_command $command; or return 1
    set -l words (commandline -opc)[2..]
    set -l position 0 # the command itself is not counted
    set -l pending no
    for word in $words
        if test $pending = yes
            set pending no
        else if string match -q -- '-*' $word
            __fatctx_takes_value $command $word; and set pending yes
        else
            set position (math $position + 1)
        end
    end
    test $pending = no -a \( $position -eq $number -o "$more" = more -a $position -ge $number \)
end

function __fatctx_records
    set -l words (commandline -opc)
    for word in $words[2..]
        if test -f "$word"
            $words[1] ls -- $word 2>/dev/null
            return
        end
    end
end

complete -c fatctx -f
"""


def fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(kind: str) -> str:
    word, _, values = kind.partition(" ")
    return {"values": f" -x -a {fish_quoted(values)}", "records": " -x -a '(__fatctx_records)'", "files": " -r -F",
            "nothing": " -x", "": ""}[word]


def fish(tree: dict) -> str:
    takes_value = [fish_quoted(f"{command['name']} {name}") for command in tree["commands"] for option in command["options"]
                   if kind_of(option) for name in option["names"]]
    lines = [FISH.replace("@TAKES_VALUE@", "        case " + " ".join(takes_value))]
    for command in tree["commands"]:
        lines.append(f"complete -c fatctx -n __fatctx_command -a {command['name']} -d {fish_quoted(command['purpose'])}\n")
    for command in [tree["program"], *tree["commands"]]:
        condition = f"-n {fish_quoted(('__fatctx_command ' + command['name']).strip())}"
        for option in command["options"]:
            names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option["names"])
            lines.append(f"complete -c fatctx {condition}{names}{fish_value(kind_of(option))} -d {fish_quoted(option['text'])}\n")
        for number, argument in enumerate(command["positionals"], start=1):
            kind = kind_of(argument, True)
            place = f"__fatctx_argument {command['name']} {number}" + (" more" if argument["repeats"] else "")
            if kind == "commands":
                kind = "values " + " ".join(other["name"] for other in tree["commands"])
            if kind != "nothing":
                lines.append(f"complete -c fatctx -n {fish_quoted(place)}{fish_value(kind).replace(' -x', '').replace(' -r', '')}\n")
    return "".join(lines)


def write_all(tree: dict, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("fatctx.bash", bash(tree)), ("_fatctx", zsh(tree)), ("fatctx.fish", fish(tree))):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")), pathlib.Path(sys.argv[2]))
