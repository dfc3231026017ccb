/**
 * Kills the gateway, or the agents below it, at random moments while tasks are under way: npm run proof -- agents-kills
 * No task may be lost, none done twice once its side effect could be known, no process left after 10 s.
 *
 *   KILLS=100 SEED=1 npm run proof -- agents-kills        about 4 min; it ends after 5 min in any case
 */
import { rmSync } from 'node:fs'
import { KillWorld } from '../agents-kills/world.ts'
import { summary } from '../agents-kills/summary.ts'
import { randomFrom } from '../agents-kills/random.ts'

const KILLS = Number(process.env['KILLS'] ?? 100)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const MAX_MS = 270_000
const MAX_WAIT_MS = 700
const GONE_MS = 10_000

const random = randomFrom(SEED)
const world = new KillWorld()
const begun = performance.now()
let [gateways, agents, longest] = [0, 0, 0]
const left: string[] = []

try {
  await world.start()
  while (gateways + agents < KILLS && performance.now() - begun < MAX_MS) await round()
  await world.finish()
  process.exitCode = report() ? 0 : 1
} finally {
  await world.end()
  rmSync(world.directory, { recursive: true, force: true, maxRetries: 5 })
}

async function round(): Promise<void> {
  const count = 1 + Math.floor(random() * 3)
  for (let task = 0; task < count; task++) void world.delegate(random())
  await new Promise(resolve => setTimeout(resolve, random() * MAX_WAIT_MS))
  if (random() < 0.5 && world.killAgent(random())) agents++
  else await killGateway()
  await world.goOn()
}

async function killGateway(): Promise<void> {
  await world.killGateway()
  gateways++
  const { found, ms } = await world.left(GONE_MS)
  left.push(...found)
  longest = Math.max(longest, ms)
  await world.start()
}

function report(): boolean {
  const { rows, isFine } = summary(world.tasks, world.log())
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  const all = {
    seed: SEED,
    'kills of the gateway': gateways,
    'kills of an agent': agents,
    'tasks delegated': world.tasks.size,
    ...rows,
    'processes left after 10 s': left.length,
    'longest time until none was left': `${Math.round(longest)} ms`,
    took: `${seconds} s`,
  }
  for (const [name, value] of Object.entries(all)) console.log(`${name.padEnd(52)} ${value}`)
  for (const process of left) console.log(`  left: ${process}`)
  return isFine && left.length === 0 && gateways + agents >= KILLS
}
