/**
 * A page before a large gateway, in real Chromium: `npm run proof -- page`, some minutes; `-- page 20000` makes fewer calls. 200
 * servers with 1,000 tools, 50 callers, 100,000 calls: time to the first view and to each page, memory of the page while calls go
 * on, and processor time of a call with a page open and without, in turns. It fails where one is over its bound.
 */
import { readdir, readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { chromium, type Page } from 'playwright-core'
import { startTraffic, type Traffic } from './traffic.ts'

const CALLS = Number(process.argv[2] ?? 100_000)
const PROGRAM = '/usr/bin/chromium'

const MOST_FIRST_MS = 1000
const MOST_SWITCH_MS = 150
/** Growth of the page's memory from the first third of the time to the last. */
const MOST_GROWTH = 1.1
const MOST_COST = 1.03

const VIEWS = 4
const ROUNDS = 5
const PAGES = ['calls', 'tools', 'clients', 'config', 'overview'] as const
const TITLES = {
  calls: 'Calls',
  tools: 'Tools',
  clients: 'Clients',
  config: 'Configuration',
  overview: 'Overview',
}

/** Ten minutes at fifty calls a second are as many events as two at 250. */
const STEPS = 12
const STEP_MS = 10_000
const PER_SECOND = 250

/** Pairs of turns: without a page, and with one. */
const PAIRS = 12
const CALLS_OF_TURN = 1000
const NANOS_PER_MICRO = 1000

let isFine = true

const traffic = await startTraffic(Math.max(CALLS, 1))
await inParts('calls', CALLS)
const browser = await chromium.launch({
  executablePath: PROGRAM,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
try {
  const page = await firstView(traffic)
  await switches(page)
  await memory(page, traffic)
  await cost(page, traffic)
} finally {
  await browser.close()
  await traffic.stop()
}
console.log(
  `       load of the machine: ${loadavg()
    .map(load => load.toFixed(1))
    .join(' ')}`,
)
console.log(isFine ? 'the page holds its bounds' : 'the page is over a bound')
process.exit(isFine ? 0 : 1)

function say(isRight: boolean, text: string): void {
  if (!isRight) isFine = false
  console.log(`${isRight ? 'ok    ' : 'NOT OK'} ${text}`)
}

async function inParts(what: string, count: number): Promise<void> {
  const began = performance.now()
  await traffic.call(count)
  console.log(`       ${count} ${what} in ${Math.round((performance.now() - began) / 1000)} s`)
}

/** Opens the link as a person does, each time in a browser that has nothing of the page yet. The best of them is the least disturbed. */
async function firstView({ gateway }: Traffic): Promise<Page> {
  const times: number[] = []
  let page: Page | undefined
  for (let i = 0; i < VIEWS; i++) {
    await page?.context().close()
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage()
    const { url } = await gateway.control.request('ui.link')
    await page.goto(String(url), { waitUntil: 'commit' })
    times.push(
      await page.evaluate<number>(
        `(async () => { for (;;) { if (document.querySelectorAll('tbody tr').length > 20) return performance.now(); await new Promise(requestAnimationFrame) } })()`,
      ),
    )
  }
  say(
    Math.min(...times) <= MOST_FIRST_MS,
    `first view after ${listed(times)} ms (bound ${MOST_FIRST_MS} for the best)`,
  )
  if (page === undefined) throw new Error('no page was opened')
  return page
}

async function switches(page: Page): Promise<void> {
  for (const name of PAGES) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await page.evaluate(`location.hash = '#/connect'`)
      await page.locator('h1', { hasText: 'Connect' }).waitFor()
      times.push(
        await page.evaluate<number>(
          `(async () => { const began = performance.now(); location.hash = '#/${name}'; for (;;) { await new Promise(requestAnimationFrame); if (document.querySelector('h1')?.textContent === '${TITLES[name]}' && document.querySelector('tbody tr')) return performance.now() - began } })()`,
        ),
      )
    }
    say(
      median(times) <= MOST_SWITCH_MS,
      `${TITLES[name]} after ${listed(times)} ms (bound ${MOST_SWITCH_MS} for the median)`,
    )
  }
}

/** Memory after a collection, while calls come. */
async function memory(page: Page, { keepCalling }: Traffic): Promise<void> {
  await page.evaluate(`location.hash = '#/calls'`)
  const stop = keepCalling(PER_SECOND)
  const sizes: number[] = []
  for (let step = 0; step <= STEPS; step++) {
    await page.waitForTimeout(STEP_MS)
    sizes.push(await heapOf(page))
  }
  await stop()
  const third = Math.floor(sizes.length / 3)
  // The least of a while is what is kept; what the first seconds fill is no growth.
  const [early, late] = [Math.min(...sizes.slice(1, third + 1)), Math.min(...sizes.slice(-third))]
  const text = sizes.map(size => size.toFixed(2)).join(' ')
  say(
    late <= early * MOST_GROWTH,
    `memory of the page in MB, each ${STEP_MS / 1000} s at ${PER_SECOND} calls a second: ${text}`,
  )
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1e6
}

/** Processor time of the gateway for a call, in turns with the page open and closed, so that whatever else the machine does is in both. */
async function cost(page: Page, { gateway, call }: Traffic): Promise<void> {
  const address = page.url()
  const closed: number[] = []
  const open: number[] = []
  const turn = async (into: number[]): Promise<void> => {
    const before = await microsOf(gateway.child.pid)
    await call(CALLS_OF_TURN)
    into.push(((await microsOf(gateway.child.pid)) - before) / CALLS_OF_TURN)
  }
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const isOpen of pair % 2 === 0 ? [false, true] : [true, false]) {
      await page.goto(isOpen ? address : 'about:blank')
      if (isOpen) await page.locator('.live', { hasText: /^live$/ }).waitFor()
      await turn(isOpen ? open : closed)
    }
  }
  const [without, with_] = [median(closed), median(open)]
  const ratio = median(open.map((one, i) => one / (closed[i] ?? one)))
  say(
    ratio <= MOST_COST,
    `a call costs the gateway ${without.toFixed(1)} µs, with a page open ${with_.toFixed(1)} µs: ${((ratio - 1) * 100).toFixed(1)} % (median of ${PAIRS} pairs; bound ${((MOST_COST - 1) * 100).toFixed(0)} %)`,
  )
}

/** Processor time of a process over all of its threads, in microseconds. Linux only. */
async function microsOf(pid: number | undefined): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const times = threads.map(async thread => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
    return Number(text.split(' ')[0])
  })
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0) / NANOS_PER_MICRO
}

function listed(times: readonly number[]): string {
  return times.map(Math.round).join(', ')
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}
