import { styleText } from 'node:util'

type TextStyle = Parameters<typeof styleText>[0]

/** One of the two streams people read. */
export interface TerminalOutput {
  /** Writes text and a line end. */
  line(text?: string): void
  /** Writes a value as indented JSON, as commands do with `--json`. */
  json(value: unknown): void
  /** Colours text where colours are wanted. */
  paint(style: TextStyle, text: string): string
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
}

/** The process as the commands see it. */
export interface Terminal {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly out: TerminalOutput
  readonly err: TerminalOutput
}

/** Reads what commands need of the process, once. */
export function createTerminal(from: Host): Terminal {
  const environment = from.env
  return {
    cwd: from.cwd(),
    environment,
    out: createOutput(from.stdout, environment),
    err: createOutput(from.stderr, environment),
  }
}

function createOutput(stream: NodeJS.WriteStream, environment: Terminal['environment']): TerminalOutput {
  // A reader that went away (`| head`) is no failure of ours.
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

/** Parts of a process that commands use: `process` itself, or a stand-in if a command runs inside another program. */
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
