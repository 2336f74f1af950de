# Completion of quarterdeck for bash. In ~/.bashrc: eval "$(quarterdeck completion bash)"
_quarterdeck() {
  local program line last breaks words=() found=()
  program=$(type -P quarterdeck) || program=@launcher@
  # Of the words that bash makes, some are parts: it cuts at : and = and @.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  last=${words[${#words[@]} - 1]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames; while IFS= read -r line; do found+=("$line"); done < <(compgen -f -- "$last") ;;
      :folder) compopt -o filenames; while IFS= read -r line; do found+=("$line"); done < <(compgen -d -- "$last") ;;
      *) found+=("${line%%$'\t'*}") ;;
    esac
  done < <("$program" complete -- "${words[@]:1}" 2>/dev/null)
  # Only what stands behind the last cut is replaced.
  breaks=${COMP_WORDBREAKS//[!:=@]/}
  if [[ -n $breaks && $last == *[$breaks]* ]]; then
    last=${last%"${last##*[$breaks]}"}
    found=("${found[@]#"$last"}")
  fi
  COMPREPLY=("${found[@]}")
}
complete -F _quarterdeck quarterdeck qd
