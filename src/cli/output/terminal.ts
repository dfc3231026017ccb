import { styleText } from 'node:util'

type TextStyle = Parameters<typeof styleText>[0]

/** stdout or stderr. */
export interface TerminalOutput {
  /** Writes text and a newline. */
  line(text?: string): void
  /** Writes indented JSON. */
  json(value: unknown): void
  /** Colors text if colors are enabled. */
  paint(style: TextStyle, text: string): string
  /** Terminal columns; undefined without a terminal. */
  readonly width: number | undefined
}

/** Command process environment. */
export interface Terminal {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly out: TerminalOutput
  readonly err: TerminalOutput
  /** Replaces the last line; undefined unless a person watches. */
  readonly status?: ((text: string) => void) | undefined
}

export function createTerminal(from: Host): Terminal {
  const environment = from.env
  return {
    cwd: from.cwd(),
    environment,
    out: createOutput(from.stdout, environment),
    err: createOutput(from.stderr, environment),
    status: createStatusLine(from),
  }
}

const SILENT_FLAGS: readonly string[] = ['--json', '--quiet', '-q']

/** Creates the function that replaces the last line on stderr, unless it is no terminal or should be quiet. */
function createStatusLine({ stderr, env, argv }: Host): Terminal['status'] {
  const end = argv.indexOf('--')
  const isQuiet = argv.slice(0, end === -1 ? undefined : end).some(word => SILENT_FLAGS.includes(word))
  if (!stderr.isTTY || isQuiet || env['CI'] || env['TERM'] === 'dumb') return undefined
  return text => void stderr.write(`\r\x1b[K${text.slice(0, (stderr.columns || 80) - 1)}`)
}

function createOutput(stream: NodeJS.WriteStream, environment: Terminal['environment']): TerminalOutput {
  // A closed reader (`| head`) is not an error.
  stream.on('error', () => {})
  const colour = stream.isTTY && !environment['NO_COLOR'] && stream.getColorDepth(environment) > 2
  const writeLine = (text = ''): void => void stream.write(`${text}\n`)
  return {
    line: writeLine,
    json: value => writeLine(JSON.stringify(value, undefined, 2)),
    paint: (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text),
    width: stream.isTTY ? Math.max(40, stream.columns || 80) : undefined,
  }
}

/** Process members that commands use: `process` itself, or a substitute if a command runs inside another program. */
export type Host = Pick<
  NodeJS.Process,
  | 'stdin'
  | 'stdout'
  | 'stderr'
  | 'env'
  | 'argv'
  | 'execPath'
  | 'pid'
  | 'platform'
  | 'versions'
  | 'cwd'
  | 'exit'
  | 'on'
  | 'once'
  | 'off'
  | 'emit'
>
