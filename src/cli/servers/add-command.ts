import { relative } from 'node:path'
import { toOneLine, plural, truncateText } from '../../util/plain-text.ts'
import { INCOMPLETE_EXIT_CODE } from '../../errors/table.ts'
import { formatDiff } from './connect.ts'
import type { Host, TerminalOutput, Terminal } from '../output/terminal.ts'
import { promptForConsent } from '../output/prompt.ts'
import { formatTable } from '../output/table.ts'
import type { AddFlags, PlannedAddition, RegistryFlags, TrialResult } from './add.ts'
import { writeAddition, resolveConfigFile, planAddition, openRegistry, tryAddition } from './add.ts'
import type { EditedConfig } from './edit-config.ts'
import { applyChange, withDraftConfig, writeChange } from './edit-config.ts'
import { listLaunchOptions } from './launch-options.ts'

interface ConfirmFlags {
  readonly yes: boolean
  readonly 'dry-run': boolean
  readonly json?: boolean | undefined
}

interface AddRequest {
  readonly targetText: string | undefined
  readonly command: readonly string[]
  readonly flags: AddFlags & ConfirmFlags
}

export async function runAdd(request: AddRequest, terminal: Terminal, host: Host): Promise<number> {
  const { flags } = request
  const { err } = terminal
  const adding = await planAddition(request, terminal, host)
  for (const note of adding.notes) err.line(`${err.paint('yellow', 'note')} ${note}`)
  const textTerminal = flags.json === true ? undefined : terminal
  if (textTerminal !== undefined) printChange(adding.file, adding.edited, textTerminal)
  const tools = await tryAddition(adding, flags, terminal)
  if (textTerminal !== undefined && tools !== undefined) printTools(adding.name, tools, textTerminal.out)
  const consent = await promptForConsent('Write this?', flags, terminal, host)
  const isWritten = consent === 'given'
  if (isWritten) await writeAddition(adding, terminal)
  if (textTerminal === undefined) terminal.out.json(createAdditionJson(adding, tools, isWritten))
  else if (isWritten) printWritten(adding, textTerminal)
  return consent === 'declined' ? INCOMPLETE_EXIT_CODE : 0
}

export async function runRemove(
  name: string,
  flags: ConfirmFlags & { readonly config?: string | undefined },
  terminal: Terminal,
  host: Host,
): Promise<number> {
  const { out } = terminal
  const file = await resolveConfigFile(flags, terminal)
  const change = { name, upstream: undefined }
  const plan = await applyChange(file, change)
  if (flags.json !== true) printChange(file, plan, terminal)
  const consent = await promptForConsent('Write this?', flags, terminal, host)
  const isWritten = consent === 'given'
  if (isWritten)
    await writeChange(file, change, now => withDraftConfig(now.before, now.after, terminal, () => Promise.resolve()))
  if (flags.json) out.json({ file, name, removed: isWritten })
  else if (isWritten) out.line(`${out.paint('green', 'wrote')} ${relative(terminal.cwd, file)}: removed ${name}`)
  return consent === 'declined' ? INCOMPLETE_EXIT_CODE : 0
}

export async function runSearch(
  words: readonly string[],
  flags: RegistryFlags & { readonly json?: boolean | undefined },
  terminal: Terminal,
): Promise<number> {
  const { out } = terminal
  const registry = await openRegistry(flags, terminal)
  const results = (await registry.search(words)).map(entry => {
    const options = listLaunchOptions(entry.packages, entry.remotes)
    const kinds = [...new Set(options.flatMap(option => ('kind' in option ? [option.kind] : [])))]
    return {
      name: entry.name,
      version: entry.version,
      status: entry.status,
      kinds,
      description: entry.description,
    }
  })
  if (flags.json) out.json({ servers: results })
  else printSearchResults(results, out)
  return 0
}

interface SearchRow {
  readonly name: string
  readonly version: string
  readonly status: string
  readonly kinds: readonly string[]
  readonly description: string
}

function printSearchResults(results: readonly SearchRow[], out: TerminalOutput): void {
  if (results.length === 0) return out.line('no server matches all words')
  const rows = results.map(({ name, version, status, kinds, description }) => [
    out.paint('bold', name),
    toOneLine(version).slice(0, 30),
    kinds.length === 0 ? out.paint('red', 'not supported') : kinds.join(', '),
    truncateText(`${status === 'active' ? '' : `${toOneLine(status).slice(0, 20)}: `}${description}`, 80),
  ])
  for (const line of formatTable(rows, out)) out.line(line)
  out.line(`${out.paint('dim', 'next:')} gateway add ${results[0]?.name ?? ''}`)
}

function printChange(file: string, { before, after }: EditedConfig, { out, cwd }: Terminal): void {
  out.line(`${out.paint('bold', relative(cwd, file))}${before.text === undefined ? ' (new)' : ''}`)
  for (const line of formatDiff(before.text ?? '', after, out)) out.line(line)
}

const MAX_SHOWN_TOOLS = 20

function printTools(name: string, { tools, tokens }: TrialResult, out: TerminalOutput): void {
  out.line(`${out.paint('green', 'started')} ${name}: ${plural(tools.length, 'tool')}, about ${tokens} tokens`)
  const rows = tools
    .slice(0, MAX_SHOWN_TOOLS)
    .map(tool => [`  ${toOneLine(tool.name)}`, out.paint('dim', `${tool.tokens} tokens`)])
  for (const line of formatTable(rows, out)) out.line(line)
  if (tools.length > MAX_SHOWN_TOOLS) out.line(`  ${out.paint('dim', `and ${tools.length - MAX_SHOWN_TOOLS} more`)}`)
}

function printWritten({ file, name, secrets, edited }: PlannedAddition, { out, cwd }: Terminal): void {
  out.line(`${out.paint('green', 'wrote')} ${relative(cwd, file)}`)
  for (const { file: own, location } of secrets)
    out.line(`  ${location} is stored in secrets/${own}, readable only by you`)
  out.line(`${out.paint('dim', 'next:')} gateway reload (not needed with --watch)`)
  if (/^pins:/m.test(edited.after)) out.line(`${out.paint('dim', 'pins:')} gateway lock ${name}`)
  out.line(`${out.paint('dim', 'undo:')} gateway remove ${name}`)
}

function createAdditionJson(
  { file, name, launch, upstream, secrets, notes }: PlannedAddition,
  tools: TrialResult | undefined,
  isWritten: boolean,
): object {
  return {
    ...{ file, name, kind: launch.kind, upstream, notes, written: isWritten },
    secrets: secrets.map(({ location, file: own }) => ({ place: location, file: `secrets/${own}` })),
    ...(tools === undefined ? {} : tools),
  }
}
