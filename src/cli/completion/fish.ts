import { nextWords, topics } from './command-table.ts'
import type { CommandRow, FlagRow } from './command-table.ts'

/** A script for fish's completions directory. */
export function fish(bin: string, table: readonly CommandRow[]): string {
  const inner = topics(table).flatMap(topic =>
    wordLines(bin, nextWords(table, topic), seen(topic, nextWords(table, topic))),
  )
  return [
    `# fish completion for ${bin}`,
    `complete -c ${bin} -f`,
    ...wordLines(bin, nextWords(table), '__fish_use_subcommand'),
    ...inner,
    ...table.flatMap(row => commandLines(bin, row)),
    '',
  ].join('\n')
}

function wordLines(
  bin: string,
  words: readonly { word: string; summary: string }[],
  condition: string,
): string[] {
  return words.map(
    ({ word, summary }) => `complete -c ${bin} -n ${quoted(condition)} -a ${word} -d ${quoted(summary)}`,
  )
}

function commandLines(bin: string, { name, flags, values, takesUpstream }: CommandRow): string[] {
  const condition = name
    .split(' ')
    .map(word => `__fish_seen_subcommand_from ${word}`)
    .join('; and ')
  const start = `complete -c ${bin} -n ${quoted(condition)}`
  return [
    ...(values.length === 0 ? [] : [`${start} -a ${quoted(values.join(' '))}`]),
    ...(takesUpstream ? [`${start} -a '(${bin} ps --quiet 2>/dev/null)'`] : []),
    ...flags.map(flag => `${start} ${flagText(flag)} -d ${quoted(flag.summary)}`),
  ]
}

const TAKES: Readonly<Record<FlagRow['takes'], string>> = {
  nothing: '',
  file: ' -r -F',
  directory: ` -x -a '(__fish_complete_directories)'`,
  text: ' -x',
}

function flagText({ names, takes }: FlagRow): string {
  return (
    names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ') +
    TAKES[takes]
  )
}

function seen(topic: string, words: readonly { word: string }[]): string {
  return `__fish_seen_subcommand_from ${topic}; and not __fish_seen_subcommand_from ${words.map(({ word }) => word).join(' ')}`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
