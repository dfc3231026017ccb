import type { Command } from '@oclif/core/command'

/** A command as completion sees it. */
export interface CommandRow {
  /** `plugin new` */
  readonly name: string
  readonly summary: string
  readonly flags: readonly FlagRow[]
  /** Values of its first argument, where they are known. */
  readonly values: readonly string[]
  /** Its first argument is an upstream of the running gateway: `gateway ps --quiet` names them. */
  readonly takesUpstream: boolean
}

export interface FlagRow {
  /** `--config`, and `-c` where there is one. */
  readonly names: readonly string[]
  readonly summary: string
  /** Words that may follow it. */
  readonly takes: 'nothing' | 'file' | 'directory' | 'text'
  /** All that it may be, where that is known. */
  readonly values: readonly string[]
}

const HELP: FlagRow = { names: ['--help', '-h'], summary: 'Show help', takes: 'nothing', values: [] }

/** The commands as data for the generators. */
export function commandTable(commands: Readonly<Record<string, Command.Class>>): CommandRow[] {
  const names = Object.keys(commands).map(id => id.replaceAll(':', ' '))
  return Object.entries(commands).map(([id, command], i) => ({
    name: names[i] ?? id,
    summary: firstSentence(command.summary),
    flags: [...shown(command.flags).map(([name, flag]) => flagRow(name, flag)), HELP],
    takesUpstream: Object.keys(command.args)[0] === 'upstream',
    values:
      id === 'help' ? [...new Set(names.map(name => name.split(' ')[0] ?? name))] : firstValues(command),
  }))
}

/** The words that can follow the program's name, and after them those of a topic. */
export function nextWords(table: readonly CommandRow[], topic = ''): { word: string; summary: string }[] {
  const start = topic === '' ? '' : `${topic} `
  const found = new Map<string, string>()
  for (const { name, summary } of table) {
    if (!name.startsWith(start)) continue
    const [word = '', ...more] = name.slice(start.length).split(' ')
    if (!found.has(word)) found.set(word, more.length === 0 ? summary : `${word} commands`)
  }
  return [...found].map(([word, summary]) => ({ word, summary }))
}

/** Words that need another one after them. */
export function topics(table: readonly CommandRow[]): string[] {
  return [
    ...new Set(table.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0] ?? name)),
  ]
}

function shown(flags: Command.Class['flags']): [string, Command.Class['flags'][string]][] {
  return Object.entries(flags).filter(([, { hidden }]) => hidden !== true)
}

function flagRow(name: string, flag: Command.Class['flags'][string]): FlagRow {
  const names = [`--${name}`, ...(flag.char === undefined ? [] : [`-${flag.char}`])]
  const negated = flag.type === 'boolean' && flag.allowNo ? [`--no-${name}`] : []
  return {
    names: [...names, ...negated],
    summary: firstSentence(flag.summary),
    takes: taken(flag),
    values: flag.type === 'option' ? (flag.options ?? []) : [],
  }
}

function taken(flag: Command.Class['flags'][string]): FlagRow['takes'] {
  if (flag.type === 'boolean') return 'nothing'
  if (flag.helpValue === '<file>') return 'file'
  return flag.helpValue === '<directory>' ? 'directory' : 'text'
}

function firstValues(command: Command.Class): readonly string[] {
  return Object.values(command.args)[0]?.options ?? []
}

function firstSentence(text = ''): string {
  return text.split(/(?<=[.:]) /)[0]?.replace(/[.:]$/, '') ?? ''
}
