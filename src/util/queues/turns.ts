/** Milliseconds of work in one turn of the event loop. */
const TURN_MS = 3

const waiting: (() => void)[] = []

/**
 * Runs work that yields every millisecond or so. Work that ends within a turn is returned immediately; the rest continues after
 * other events, and of several works one continues in each turn.
 */
export function runInTurns<T>(work: Generator<void, T>): T | Promise<T> {
  const step = runTurn(work)
  return step.done === true ? step.value : continueInTurns(work)
}

/** Runs the work to its end without a pause. */
export function finish<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

async function continueInTurns<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    await nextTurn()
    const step = runTurn(work)
    if (step.done === true) return step.value
  }
}

function runTurn<T>(work: Generator<void, T>): IteratorResult<void, T> {
  const end = performance.now() + TURN_MS
  for (;;) {
    const step = work.next()
    if (step.done === true || performance.now() >= end) return step
  }
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(releaseOne)
  })
}

function releaseOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(releaseOne)
}
