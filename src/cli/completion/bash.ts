import { nextWords, topics } from './command-table.ts'
import type { CommandRow, FlagRow } from './command-table.ts'

/** A script for `complete -F`; it runs on the bash 3.2 that macOS has. */
export function bash(bin: string, table: readonly CommandRow[]): string {
  return `# bash completion for ${bin}
_${bin}() {
  local word previous command words i IFS=$' \\t\\n'
  word="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
${valueCases(table)}
${commandLoop(table)}
${wordCases(table)}
${upstreamCase(bin, table)}
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _${bin} ${bin}
`
}

function valueCases(table: readonly CommandRow[]): string {
  const files = "compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen"
  return `  case "$previous" in
    ${flagNames(table, 'file').join('|')}) ${files} -f -- "$word")); return ;;
    ${flagNames(table, 'directory').join('|')}) ${files} -d -- "$word")); return ;;
    ${flagNames(table, 'text').join('|')}) return ;;
  esac`
}

function commandLoop(table: readonly CommandRow[]): string {
  return `  command=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --) compopt -o default 2>/dev/null; return ;;
      ${flagNames(table, 'file', 'directory', 'text').join('|')}) ((i++)) ;;
      -*) ;;
      *) command="\${command:+$command }\${COMP_WORDS[i]}" ;;
    esac
  done`
}

function wordCases(table: readonly CommandRow[]): string {
  const first = [...nextWords(table).map(({ word }) => word), '--help', '--version']
  const inner = topics(table).map(topic => ({
    pattern: `"${topic}"`,
    words: nextWords(table, topic).map(({ word }) => word),
  }))
  const commands = table.map(({ name, flags, values }) => ({
    pattern: `"${name}"|"${name} "*`,
    words: [...values, ...flags.flatMap(flag => flag.names.filter(one => one.startsWith('--')))],
  }))
  const cases = [{ pattern: '""', words: first }, ...inner, ...commands]
  return `  case "$command" in
${cases.map(({ pattern, words }) => `    ${pattern}) words="${words.join(' ')}" ;;`).join('\n')}
  esac`
}

/** Asked for only where a name is wanted: it starts a process. */
function upstreamCase(bin: string, table: readonly CommandRow[]): string {
  const commands = table.filter(row => row.takesUpstream).map(({ name }) => `"${name}"`)
  return `  case "$command" in
    ${commands.join('|')}) [[ "$word" == -* ]] || words="$words $(${bin} ps --quiet 2>/dev/null)" ;;
  esac`
}

function flagNames(table: readonly CommandRow[], ...takes: readonly FlagRow['takes'][]): string[] {
  const flags = table.flatMap(row => row.flags).filter(flag => takes.includes(flag.takes))
  return [...new Set(flags.flatMap(flag => flag.names))]
}
