# Completion of quarterdeck for fish: quarterdeck completion fish > ~/.config/fish/completions/quarterdeck.fish
function __quarterdeck_complete
    set -l program (command -s quarterdeck)
    test -n "$program"; or set program @launcher@
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
