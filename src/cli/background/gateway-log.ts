import { open, stat } from 'node:fs/promises'
import { gatewayError } from '../../errors/errors.ts'
import { isObject } from '../../protocol/json/json.ts'
import { createLog } from '../../util/log.ts'
import { tryParseJson } from '../../util/plain-data.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'
import type { ControlFlags } from '../remote/control-connection.ts'
import { resolveBackground } from './up.ts'

interface GatewayLogFlags extends ControlFlags {
  readonly lines: number
  readonly follow: boolean
  readonly json: boolean
}

const POLL_MS = 500
/** Maximum bytes that are read, from a log's end. */
const MAX_BYTES = 4 * 1024 * 1024
const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Prints the log from the background gateway and all its servers, also after it has stopped. */
export async function printGatewayLog(flags: GatewayLogFlags, terminal: Terminal): Promise<void> {
  const { log: file } = await resolveBackground(flags, terminal)
  const size = await stat(file).then(
    found => found.size,
    () => undefined,
  )
  if (size === undefined)
    throw gatewayError('GW_USAGE', {
      what: `${file} does not exist: gateway up writes it, gateway serve logs to its terminal`,
    })
  let offset = Math.max(0, size - MAX_BYTES)
  let rest = ''
  const readLines = async (): Promise<string[]> => {
    const bytes = await readFrom(file, offset)
    offset += bytes.length
    const lines = (rest + bytes.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    return lines
  }
  const printLine = createLinePrinter(flags.json, terminal)
  const lines = await readLines()
  const last = lines.slice(Math.max(0, lines.length - flags.lines))
  if (flags.json && !flags.follow) return terminal.out.json({ lines: last.map(line => tryParseJson(line) ?? line) })
  for (const line of last) printLine(line)
  while (flags.follow) {
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
    // A new gateway moves a large log aside.
    if ((await stat(file)).size < offset) offset = 0
    for (const line of await readLines()) printLine(line)
  }
}

async function readFrom(file: string, start: number): Promise<Buffer> {
  const opened = await open(file)
  try {
    const chunks: Buffer[] = []
    for await (const chunk of opened.createReadStream({ start, autoClose: false })) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  } finally {
    await opened.close()
  }
}

/** Creates a function that prints log lines for people; with JSON, unchanged. */
function createLinePrinter(isJson: boolean, { out }: Terminal): (line: string) => void {
  let time = new Date()
  const log = createLog({ level: 'debug', format: 'pretty', write: text => out.line(text), time: () => time })
  return line => {
    const entry = isJson ? undefined : tryParseJson(line)
    if (!isObject(entry) || Number.isNaN(Date.parse(String(entry.time))))
      return out.line(isJson ? line : sanitizeText(line))
    const { time: at, level, message, ...fields } = entry
    time = new Date(String(at))
    log[LEVELS.find(one => one === level) ?? 'info'](String(message), fields)
  }
}
