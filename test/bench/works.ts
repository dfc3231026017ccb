import type { Ask, Era } from './load/messages.ts'
import type { Wiring } from './subjects.ts'

/** One kind of work, done by every subject of a wiring. */
export interface Work {
  /** Short, for `--only` and the result file. */
  readonly key: string
  readonly title: string
  readonly wiring: Wiring
  readonly ask: Ask
  readonly concurrency: readonly number[]
  /** Done in a quick run too, with these numbers in flight. */
  readonly quick: readonly number[]
}

const FLIGHTS = [1, 16, 64]

function call(era: Era, tool: string): Ask {
  return { era, method: 'tools/call', tool }
}

function work(
  key: string,
  title: string,
  wiring: Wiring,
  ask: Ask,
  concurrency: readonly number[],
  quick: readonly number[],
): Work {
  return { key, title, wiring, ask, concurrency, quick }
}

const SMALL = call('legacy', 'small')
const SMALL_MODERN = call('modern', 'small')
const TEN = call('legacy', 'kb10')
const MEGA = call('legacy', 'mb1')
const LIST: Ask = { era: 'legacy', method: 'tools/list' }

export const WORKS: readonly Work[] = [
  work('small-http-http', 'small call, HTTP→HTTP', 'http-http', SMALL, FLIGHTS, FLIGHTS),
  work(
    'small-http-http-modern',
    'small call, HTTP→HTTP, modern',
    'http-http-modern',
    SMALL_MODERN,
    FLIGHTS,
    [16],
  ),
  work('small-modern-legacy', 'small call, HTTP→HTTP, modern→legacy', 'http-http', SMALL_MODERN, [16], [16]),
  work('small-legacy-modern', 'small call, HTTP→HTTP, legacy→modern', 'http-http-modern', SMALL, [16], [16]),
  work('small-http-stdio', 'small call, HTTP→stdio', 'http-stdio', SMALL, FLIGHTS, [16]),
  work('small-stdio-stdio', 'small call, stdio→stdio', 'stdio-stdio', SMALL, FLIGHTS, [1, 16]),
  work('small-stdio-http', 'small call, stdio→HTTP', 'stdio-http', SMALL, FLIGHTS, [16]),
  work('10k-http-http', '10 KB reply, HTTP→HTTP', 'http-http', TEN, [16], [16]),
  work('10k-http-stdio', '10 KB reply, HTTP→stdio', 'http-stdio', TEN, [16], []),
  work('10k-stdio-stdio', '10 KB reply, stdio→stdio', 'stdio-stdio', TEN, [16], []),
  work('1m-http-http', '1 MB reply, HTTP→HTTP', 'http-http', MEGA, [16], [16]),
  work('1m-http-stdio', '1 MB reply, HTTP→stdio', 'http-stdio', MEGA, [16], []),
  work('1m-stdio-stdio', '1 MB reply, stdio→stdio', 'stdio-stdio', MEGA, [16], []),
  work('1m-stdio-http', '1 MB reply, stdio→HTTP', 'stdio-http', MEGA, [16], []),
  work('list-1000', 'tools/list of 1,000 tools (10 × 100)', 'lists', LIST, [16], [16]),
]
