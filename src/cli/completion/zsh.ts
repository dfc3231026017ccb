import { nextWords, topics } from './command-table.ts'
import type { CommandRow, FlagRow } from './command-table.ts'

/** A script for a directory of `$fpath`. */
export function zsh(bin: string, table: readonly CommandRow[]): string {
  return `#compdef ${bin}
# zsh completion for ${bin}
_${bin}() {
  local -a words_next
  local line state
  _arguments -C '(- *)'{-h,--help}'[Show help]' '(- *)'{-v,--version}'[Show the version]' '1: :->command' '*:: :->rest'
  case $state in
    command)
      words_next=(${described(nextWords(table))})
      _describe command words_next ;;
    rest)
      case $line[1] in
${topics(table)
  .map(topic => topicCase(topic, table))
  .join('\n')}
${table
  .filter(({ name }) => !name.includes(' '))
  .map(row => `        ${row.name}) ${argumentsOf(row, '        ')} ;;`)
  .join('\n')}
      esac ;;
  esac
}
compdef _${bin} ${bin}
`
}

function topicCase(topic: string, table: readonly CommandRow[]): string {
  const rows = table.filter(({ name }) => name.startsWith(`${topic} `))
  const cases = rows.map(
    row => `            ${row.name.slice(topic.length + 1)}) ${argumentsOf(row, '            ')} ;;`,
  )
  return `        ${topic})
          if (( CURRENT == 1 )); then
            words_next=(${described(nextWords(table, topic))})
            _describe command words_next
          else
            case $words[1] in
${cases.join('\n')}
            esac
          fi ;;`
}

function argumentsOf({ name, flags, values, takesUpstream }: CommandRow, indent: string): string {
  const known = values.length > 0 ? [`'1: :(${values.join(' ')})'`] : []
  const first = takesUpstream ? [`'1:upstream:($(gateway ps --quiet 2>/dev/null))'`] : known
  const rest = name === 'wrap' ? [`'*:::command: _normal'`] : []
  return ['_arguments', ...flags.flatMap(flagSpecs), ...first, ...rest].join(` \\\n${indent}  `)
}

const ACTIONS: Readonly<Record<FlagRow['takes'], string>> = {
  nothing: '',
  file: ':file:_files',
  directory: ':directory:_files -/',
  text: ':value: ',
}

function flagSpecs({ names, summary, takes }: FlagRow): string[] {
  return names.map(name => `'*${name}[${escaped(summary)}]${ACTIONS[takes]}'`)
}

function described(words: readonly { word: string; summary: string }[]): string {
  return words.map(({ word, summary }) => `'${word}:${escaped(summary)}'`).join(' ')
}

function escaped(text: string): string {
  return text.replaceAll("'", "'\\''").replace(/[[\]:]/g, '\\$&')
}
