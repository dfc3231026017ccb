import type { Terminal } from './terminal.ts'
import type { Host } from '../host.ts'

const FRAMES = ['-', '\\', '|', '/']
const EVERY_MS = 120
const CLEAR_LINE = '\r\u001b[K'

/** Tells who waits what is done now. */
export interface Spinner {
  readonly say: (text: string) => void
  readonly end: () => void
}

/** A line that turns on a terminal; nothing where there is none, or somebody else writes there. */
export function spinnerOn({ err }: Terminal, host: Host, isSilent: boolean): Spinner {
  if (isSilent || err.width === undefined) return { say: () => undefined, end: () => undefined }
  const width = err.width
  let text = ''
  let turn = 0
  let timer: NodeJS.Timeout | undefined
  const draw = (): void => {
    const frame = FRAMES[turn++ % FRAMES.length] ?? ''
    host.stderr.write(`${CLEAR_LINE}${`${frame} ${text}`.slice(0, width - 1)}`)
  }
  return {
    say(next) {
      text = next
      draw()
      timer ??= setInterval(draw, EVERY_MS).unref()
    },
    end() {
      if (timer === undefined) return
      clearInterval(timer)
      timer = undefined
      host.stderr.write(CLEAR_LINE)
    },
  }
}
