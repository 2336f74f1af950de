#compdef quarterdeck qd
# Completion of quarterdeck for zsh. In ~/.zshrc, behind compinit: eval "$(quarterdeck completion zsh)"
_quarterdeck() {
  local program line files=0
  local -a before found
  program=${commands[quarterdeck]:-@launcher@}
  before=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  for line in "${(@f)$("$program" complete -- "${before[@]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :file) files=1 ;;
      :folder) files=2 ;;
      *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) found+=("${line//:/\\:}") ;;
    esac
  done
  (( $#found )) && _describe -V quarterdeck found
  (( files == 1 )) && _files
  (( files == 2 )) && _files -/
  return 0
}
if [[ ${funcstack[1]} == _quarterdeck ]]; then
  _quarterdeck "$@"
else
  compdef _quarterdeck quarterdeck qd
fi
