const bash = (launcher: string) => `# Completion of quarterdeck for bash. In ~/.bashrc: eval "$(quarterdeck completion bash)"
_quarterdeck() {
  local program line last breaks words=() found=()
  program=$(type -P quarterdeck) || program=${launcher}
  # Of the words that bash makes, some are parts: it cuts at : and = and @.
  read -ra words <<<"\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  last=\${words[\${#words[@]} - 1]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames; while IFS= read -r line; do found+=("$line"); done < <(compgen -f -- "$last") ;;
      :folder) compopt -o filenames; while IFS= read -r line; do found+=("$line"); done < <(compgen -d -- "$last") ;;
      *) found+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("$program" complete -- "\${words[@]:1}" 2>/dev/null)
  # Only what stands behind the last cut is replaced.
  breaks=\${COMP_WORDBREAKS//[!:=@]/}
  if [[ -n $breaks && $last == *[$breaks]* ]]; then
    last=\${last%"\${last##*[$breaks]}"}
    found=("\${found[@]#"$last"}")
  fi
  COMPREPLY=("\${found[@]}")
}
complete -F _quarterdeck quarterdeck qd
`;

const zsh = (launcher: string) => `#compdef quarterdeck qd
# Completion of quarterdeck for zsh. In ~/.zshrc, behind compinit: eval "$(quarterdeck completion zsh)"
_quarterdeck() {
  local program line files=0
  local -a before found
  program=\${commands[quarterdeck]:-${launcher}}
  before=("\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}")
  for line in "\${(@f)$("$program" complete -- "\${before[@]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :file) files=1 ;;
      :folder) files=2 ;;
      *$'\\t'*) found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) found+=("\${line//:/\\\\:}") ;;
    esac
  done
  (( $#found )) && _describe -V quarterdeck found
  (( files == 1 )) && _files
  (( files == 2 )) && _files -/
  return 0
}
if [[ \${funcstack[1]} == _quarterdeck ]]; then
  _quarterdeck "$@"
else
  compdef _quarterdeck quarterdeck qd
fi
`;

const fish = (
  launcher: string,
) => `# Completion of quarterdeck for fish: quarterdeck completion fish > ~/.config/fish/completions/quarterdeck.fish
function __quarterdeck_complete
    set -l program (command -s quarterdeck)
    test -n "$program"; or set program ${launcher}
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -e words[1]
    for line in ($program complete -- $words "$last" 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path "$last"
            case ':folder'
                __fish_complete_directories "$last"
            case '*'
                echo $line
        end
    end
end
complete -c quarterdeck -f -a '(__quarterdeck_complete)'
complete -c qd -f -a '(__quarterdeck_complete)'
`;

/** They contain no words and query the program at each Tab, so that they never become outdated. The typed words are never run. */
export const shellScripts: ReadonlyMap<string, (launcher: string) => string> = new Map([
  ['bash', (launcher) => bash(`'${launcher.replaceAll("'", "'\\''")}'`)],
  ['zsh', (launcher) => zsh(`'${launcher.replaceAll("'", "'\\''")}'`)],
  ['fish', (launcher) => fish(`'${launcher.replaceAll("'", "\\'")}'`)],
]);
