"""`kingdom completion`: a script for the shell, which asks `kingdom complete` for everything."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE

BASH = r"""# Completion of kingdom for bash. Load it with: source <(kingdom completion bash)
_kingdom() {
    local line=${COMP_LINE:0:COMP_POINT} words=() answers=() answer broken
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    mapfile -t answers < <("${1/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    for answer in "${answers[@]}"; do
        case $answer in
            :files) compopt -o default 2>/dev/null ;;
            :directories) compopt -o dirnames 2>/dev/null ;;
            *) COMPREPLY+=("${answer%%$'\t'*}") ;;
        esac
    done
    # Bash begins a new word at these, so what lies before them is there already.
    broken=${words[-1]}
    broken=${broken%"${broken##*["$COMP_WORDBREAKS"]}"}
    [[ -n $broken ]] && COMPREPLY=("${COMPREPLY[@]#"$broken"}")
    return 0
}
complete -F _kingdom kingdom
"""
ZSH = r"""#compdef kingdom
# Completion of kingdom for zsh. Load it with: source <(kingdom completion zsh)
# or put it into a directory of $fpath under the name _kingdom.
_kingdom() {
    local program=${(Q)words[1]} line
    local -a values shown
    local -a typed=("${(@Q)words[2,CURRENT]}")
    for line in "${(@f)$("${program/#\~/$HOME}" complete -- "${typed[@]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :files) _files; return ;;
            :directories) _files -/; return ;;
            *)
                values+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
                ;;
        esac
    done
    (( $#values )) && compadd -l -d shown -a values
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _kingdom "$@"
elif (( $+functions[compdef] )); then
    compdef _kingdom kingdom
else
    print -u2 "kingdom: load zsh's completion first: autoload -U compinit && compinit"
fi
"""
FISH = r"""# Completion of kingdom for fish. Load it with: kingdom completion fish | source
function __kingdom_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for answer in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $answer
            case :files
                __fish_complete_path $current
            case :directories
                __fish_complete_directories $current
            case '*'
                printf '%s\n' $answer
        end
    end
end
complete -c kingdom -f -a '(__kingdom_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def parser() -> Parser:
    made = Parser(
        "completion",
        "Prints a script that completes commands, options, ids and names in your shell.",
        "source <(kingdom completion bash)      # in ~/.bashrc",
        "source <(kingdom completion zsh)       # in ~/.zshrc, after compinit",
        "kingdom completion fish | source       # in ~/.config/fish/config.fish",
    )
    made.takes("shell", choices=list(SCRIPTS), metavar="SHELL", help="bash, zsh or fish")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    print(SCRIPTS[options.shell], end="")
    return EXIT_DONE
