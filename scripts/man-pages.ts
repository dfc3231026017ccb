// Man pages of the commands, in the macros of man(7), made from what --help shows.
import type { Command } from '@oclif/core/command'

interface ManFacts {
  readonly version: string
  readonly description: string
  /** Description of each word that only holds other commands, such as `service`. */
  readonly topics: Readonly<Record<string, string>>
}

type Flag = Command.Class['flags'][string]
type Commands = Readonly<Record<string, Command.Class>>

/** Exit codes that every command has, as the table of errors gives them. */
const EXITS: readonly (readonly [string, string])[] = [
  ['0', 'It went well.'],
  ['1', 'A fault of the gateway itself, or something is left as it was.'],
  ['2', 'Wrong usage.'],
  ['3', 'The configuration cannot be used.'],
  ['4', 'It could not start, or there is nothing to ask.'],
  ['5', 'A server said no.'],
  ['6', 'Findings, of gateway doctor.'],
]
const VARIABLES: readonly (readonly [string, string])[] = [
  ['GATEWAY_ENV', 'Environment: gateway.<name>.yaml goes on top.'],
  ['NO_COLOR', 'No colours, whatever the terminal.'],
  ['XDG_STATE_HOME', 'Where state is kept, logs among it.'],
  ['XDG_RUNTIME_DIR', 'Where sockets are.'],
]

/** All pages by their file names: gateway.1 with the list of commands, and one for each of them. */
export function manPages(commands: Commands, facts: ManFacts): Map<string, string> {
  const pages = new Map([['gateway.1', mainPage(commands, facts)]])
  for (const [id, command] of Object.entries(commands))
    if (!command.hidden) pages.set(`${pageOf(id)}.1`, commandPage(id, command, facts))
  return pages
}

function pageOf(id: string): string {
  return `gateway-${id.replaceAll(':', '-')}`
}

function mainPage(commands: Commands, { version, description, topics }: ManFacts): string {
  const listed = Object.entries(commands).filter(([, { hidden }]) => !hidden)
  return page([
    title('gateway', version),
    section('NAME', [`gateway \\- ${text(description)}`]),
    section('SYNOPSIS', ['.B gateway', '.I command', '[\\fIargument\\fR ...]']),
    section('DESCRIPTION', [
      text(
        'Each command has a page of its own, such as gateway-serve(1), and shows it in short with --help.',
      ),
    ]),
    section(
      'COMMANDS',
      listed.flatMap(([id, { summary = '' }]) => tagged(bold(words(id)), summary)),
    ),
    section(
      'TOPICS',
      Object.entries(topics).flatMap(([topic, about]) => tagged(bold(topic), about)),
    ),
    section(
      'ENVIRONMENT',
      VARIABLES.flatMap(([name, about]) => tagged(bold(name), about)),
    ),
    section(
      'EXIT STATUS',
      EXITS.flatMap(([code, about]) => tagged(bold(code), about)),
    ),
    section('SEE ALSO', [text(listed.map(([id]) => `${pageOf(id)}(1)`).join(', '))]),
  ])
}

function commandPage(id: string, command: Command.Class, { version }: ManFacts): string {
  const { summary = '', description = '', args, flags } = command
  const shown = Object.entries(flags).filter(([, { hidden }]) => hidden !== true)
  return page([
    title(pageOf(id), version),
    section('NAME', [`${text(pageOf(id))} \\- ${text(summary.replace(/\.$/, ''))}`]),
    section('SYNOPSIS', [text(`gateway ${usageOf(id, command)}`)]),
    section('DESCRIPTION', [text(summary), ...(description === '' ? [] : ['.PP', text(description)])]),
    section(
      'ARGUMENTS',
      Object.entries(args).flatMap(([name, { description: about = '' }]) =>
        tagged(`\\fI${text(name)}\\fR`, about),
      ),
    ),
    section(
      'OPTIONS',
      shown.flatMap(([name, flag]) => tagged(flagTitle(name, flag), flagText(flag))),
    ),
    section('EXAMPLES', exampleLines(command)),
    section('SEE ALSO', ['gateway(1)']),
  ])
}

function usageOf(id: string, { usage, args, strict }: Command.Class): string {
  const [given] = [usage].flat()
  if (given !== undefined) return given
  const each = Object.entries(args).map(([name, { required }]) => {
    const word = `${name.toUpperCase()}${strict ? '' : '...'}`
    return required === true ? word : `[${word}]`
  })
  return [words(id), ...each, '[options]'].join(' ')
}

function flagTitle(name: string, flag: Flag): string {
  const short = flag.char === undefined ? '' : `${bold(`-${flag.char}`)}, `
  const long = flag.type === 'boolean' && flag.allowNo ? `--[no-]${name}` : `--${name}`
  if (flag.type === 'boolean') return `${short}${bold(long)}`
  const value = (flag.options?.join('|') ?? flag.helpValue?.toString() ?? '<value>').replace(/^<|>$/g, '')
  return `${short}${bold(long)} \\fI${text(value)}\\fR`
}

function flagText(flag: Flag): string {
  const fallback: unknown = flag.type === 'option' ? flag.default : undefined
  const said = flag.summary ?? flag.description ?? ''
  const isSaid = typeof fallback !== 'string' || /\bDefault:/.test(said)
  return isSaid ? said : `${said} Default: ${fallback}.`
}

function exampleLines({ examples }: Command.Class): string[] {
  const lines = examples.map(example => (typeof example === 'string' ? example : example.command))
  return lines.length === 0 ? [] : ['.nf', ...lines.flatMap(line => line.split('\n').map(text)), '.fi']
}

function words(id: string): string {
  return id.replaceAll(':', ' ')
}

function title(name: string, version: string): string {
  return `.TH "${text(name.toUpperCase())}" "1" "" "tapgate ${text(version)}" "Commands"`
}

/** A heading with its lines; nothing where there are none. */
function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [`.SH ${heading}`, ...lines].join('\n')
}

function tagged(tag: string, about: string): string[] {
  return ['.TP', tag, text(about)]
}

function bold(word: string): string {
  return `\\fB${text(word)}\\fR`
}

function page(parts: readonly string[]): string {
  const lines = ['.\\" Made from the commands: do not edit.', ...parts.filter(part => part !== '')]
  return `${lines.join('\n')}\n`
}

/** Letters beyond ASCII, as groff names them. */
const LETTERS: Readonly<Record<string, string>> = {
  '–': '\\(en',
  '—': '\\(em',
  '…': '...',
  '→': '\\(->',
  '≤': '\\(<=',
  '×': '\\(mu',
  '“': '\\(lq',
  '”': '\\(rq',
}

/** Text that is no request and no escape; a hyphen stays one that can be copied into a shell. */
function text(plain: string): string {
  const escaped = plain.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq')
  const ascii = escaped.replace(/[^\n\x20-\x7e]/gu, letter => LETTERS[letter] ?? named(letter))
  return ascii.replace(/^([.'])/gm, '\\&$1')
}

function named(letter: string): string {
  const code = letter.codePointAt(0) ?? 0
  return `\\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`
}
