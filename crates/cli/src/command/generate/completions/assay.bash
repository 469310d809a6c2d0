# Completions of assay. The program itself knows what may stand at each place.
_assay() {
    local at word joins=no
    local -a words=()
    # Bash splits words at `=` and `:`, and the program wants whole ones.
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ $at -gt 0 && ($joins == yes || $word =~ ^[=:]+$) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word =~ ^[=:]+$ ]] && joins=yes || joins=no
    done
    mapfile -t COMPREPLY < <(
        ASSAY_COMPLETE=bash _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_IFS=$'\n' \
            command assay -- "${words[@]}" 2> /dev/null
    )
    # Nothing is known: bash completes names of files.
    [[ ${#COMPREPLY[@]} -eq 1 && -z ${COMPREPLY[0]} ]] && COMPREPLY=()
    # Only what follows the last split is replaced.
    local whole=${words[-1]} current=$2
    [[ $current =~ ^[=:]+$ ]] && current=
    COMPREPLY=("${COMPREPLY[@]#"${whole%"$current"}"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} =~ [=/]$ ]] && compopt -o nospace 2> /dev/null
    return 0
}
complete -o bashdefault -o default -F _assay assay
