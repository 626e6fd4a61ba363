# Completion for fish: `sandlease complete` knows the words.

function __sandlease_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (sandlease complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c sandlease -f -a "(__sandlease_complete)"
