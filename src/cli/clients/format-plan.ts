import { HIDDEN, isSecretName } from '../../util/secrets.ts'
import type { Terminal } from '../output/terminal.ts'
import { CLIENTS } from './clients.ts'
import type { ConnectPlan, UndoPlan } from './connect.ts'
import { formatDiff } from './connect.ts'

export function formatConnectPlan(
  { client, file = '', before, after, isDone, problem }: ConnectPlan,
  out: Terminal['out'],
): string[] {
  const name = out.paint('bold', client.title)
  if (problem !== undefined) return [`${name} ${file} ${out.paint('red', 'unchanged:')} ${problem}`]
  if (isDone === true) return [`${name} ${file} is already connected`]
  return [
    `${name} ${file}${before?.text === undefined ? ' (new)' : ''}`,
    ...formatDiff(before?.text ?? '', after ?? '').map(line => `  ${paintChange(redactLine(line), out)}`),
  ]
}

export function formatUndoPlan({ result, before, after }: UndoPlan, out: Terminal['out']): string[] {
  const { client, file, outcome, why = '' } = result
  const name = out.paint('bold', CLIENTS.find(one => one.name === client)?.title ?? client)
  if (outcome === 'left') return [`${name} ${file} ${out.paint('red', 'unchanged:')} ${why}`]
  if (before === undefined) return [`${name} ${file}: entry already removed`]
  return [
    `${name} ${file}${after === undefined ? ' (deleted)' : ''}`,
    ...formatDiff(before.text ?? '', after ?? '').map(line => `  ${paintChange(redactLine(line), out)}`),
  ]
}

/** Assignments with a name, to redact secrets: a settings file may be a single line. */
const NAMED_VALUE = /([\w.-]+)(["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')/g

function redactLine(line: string): string {
  return line.replace(NAMED_VALUE, (match, name: string, between: string) =>
    isSecretName(name) ? `${name}${between}"${HIDDEN}"` : match,
  )
}

function paintChange(line: string, out: Terminal['out']): string {
  if (line.startsWith('+')) return out.paint('green', line)
  return line.startsWith('-') ? out.paint('red', line) : line
}
