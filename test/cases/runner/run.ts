import { join } from 'node:path'
import { loadConfig } from '../../../src/config/index.ts'
import {
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
  type TestUpstream,
} from '../../../src/testing/index.ts'
import { handlers } from './handlers.ts'
import { perform } from './steps.ts'
import type { EraName, Step, Transcript, UpstreamScript } from './transcript.ts'

const STEP_MS = 30_000

/** One run of a case: its gateway between upstreams of one era and clients of one era. */
export interface Stage {
  readonly gateway: TestGateway
  readonly upstreams: ReadonlyMap<string, TestUpstream>
  readonly clientEra: EraName
  client(name: string | undefined): Promise<TestClient>
}

/** Plays a transcript against the real gateway, with `gateway.yaml` of its folder. `${WEB_URL}` is the upstream `web`. */
export async function play(
  folder: string,
  transcript: Transcript,
  clientEra: EraName,
  upstreamEra: EraName,
): Promise<void> {
  const open: AsyncDisposable[] = []
  try {
    const stage = await setStage(folder, transcript, clientEra, upstreamEra, open)
    for (const [index, step] of transcript.steps.entries()) {
      if (!isMeant(step, clientEra, upstreamEra)) continue
      const label = `step ${index + 1}${step.request === undefined ? '' : ` (${step.request})`}`
      await inTime(perform(step, stage, label), label)
    }
  } finally {
    for (const one of open.reverse()) await one[Symbol.asyncDispose]()
  }
}

/** A step that waits for what does not come ends, so that what it opened is closed. */
async function inTime(step: Promise<void>, label: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${label} took longer than ${STEP_MS} ms`)), STEP_MS)
  })
  await Promise.race([step, late]).finally(() => clearTimeout(timer))
}

/** Starts everything; what must be closed again is added to `open`. */
async function setStage(
  folder: string,
  transcript: Transcript,
  clientEra: EraName,
  upstreamEra: EraName,
  open: AsyncDisposable[],
): Promise<Stage> {
  const upstreams = new Map<string, TestUpstream>()
  for (const [name, script] of Object.entries(transcript.upstreams))
    upstreams.set(name, await upstreamOf(script, upstreamEra))
  open.push(...upstreams.values())

  const environment = Object.fromEntries([...upstreams].map(([name, { url }]) => [`${name.toUpperCase()}_URL`, url]))
  const config = await loadConfig({ file: join(folder, 'gateway.yaml'), cwd: folder, environment })
  const gateway = await testGateway({ config })
  open.push(gateway)

  const clients = new Map<string, TestClient>()
  const client = async (name = 'main'): Promise<TestClient> => {
    const known = clients.get(name)
    if (known !== undefined) return known
    const made = await testClient(gateway, { era: clientEra, ...transcript.clients?.[name] })
    clients.set(name, made)
    open.push(made)
    return made
  }
  return { gateway, upstreams, clientEra, client }
}

function isMeant({ when }: Step, clientEra: EraName, upstreamEra: EraName): boolean {
  return (when?.client ?? clientEra) === clientEra && (when?.upstream ?? upstreamEra) === upstreamEra
}

async function upstreamOf(script: UpstreamScript, era: EraName): Promise<TestUpstream> {
  const { tools, prompts, methods, down, ...rest } = script
  const upstream = await testUpstream({
    era,
    ...rest,
    tools: handlers(tools),
    prompts: handlers(prompts),
    methods: handlers(methods),
  })
  if (down === true) await upstream.stop()
  return upstream
}
