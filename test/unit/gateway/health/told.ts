import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { examine } from '../../../../src/cli/doctor/doctor.ts'
import { openControl } from '../../../../src/control/server.ts'
import type { Health, HealthFinding } from '../../../../src/errors/health.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { createLog } from '../../../../src/util/log.ts'
import { readOwnPackage } from '../../../../src/util/version.ts'
import type { TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { lab } from '../../cli/doctor/lab.ts'

const quiet = createLog({ level: 'error', format: 'json', write: () => undefined })

/** A gateway as its owner looks at it: by `ps`, `doctor`, the verb, a probe and Prometheus. */
export interface Seen {
  readonly gateway: TestGateway
  readonly headers: Readonly<Record<string, string>>
  doctor(): Promise<readonly HealthFinding[]>
}

/** Opens the control socket of a gateway, where `gateway doctor` finds it. */
export async function seen(
  t: TestContext,
  gateway: TestGateway,
  headers: Readonly<Record<string, string>> = {},
): Promise<Seen> {
  const { file, runtime, terminal } = await lab(t)
  const socket = join(runtime, 'gateway.sock')
  const control = await openControl(
    socket,
    {
      about: { ...readOwnPackage(), pid: process.pid, config: file },
      log: quiet,
      control: (...request) => gateway.gateway.control(...request),
    },
    false,
  )
  cleanup(t, () => control.close())
  const doctor = async (): Promise<readonly HealthFinding[]> =>
    (await examine({ config: file, socket }, terminal)).findings
  return { gateway, headers, doctor }
}

/** The finding of this code, which all roads tell alike. While they are asked one after the other, a server may try again. */
export async function toldOf(one: Seen, code: string): Promise<HealthFinding> {
  const deadline = Date.now() + 30_000
  for (;;)
    try {
      return await toldNow(one, code)
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
}

async function toldNow(one: Seen, code: string): Promise<HealthFinding> {
  const { control } = controlOf(one)
  const health = (await control('health')) as unknown as Health
  const finding = health.findings.find(found => found.code === code)
  assert.ok(finding, `${code} is not in ${JSON.stringify(health)}`)
  const ps = (await control('ps')).health as Health
  assert.deepEqual(pick(ps.findings, code), finding, 'ps')
  assert.deepEqual(pick(await one.doctor(), code), finding, 'doctor')
  const { level, upstream } = finding
  const named = { code, level, ...(upstream === undefined ? {} : { upstream }) }
  const probed = await probe(one)
  assert.deepEqual(pick(probed.findings as HealthFinding[], code), named, 'readyz')
  assert.equal(probed.level, health.level)
  const line = `tapgate_health_findings{code="${code}",level="${level}"`
  assert.ok((await scraped(one)).includes(line), `metrics: ${line}`)
  return finding
}

/** True when no road tells of it any more. */
export async function isOver(one: Seen, code: string): Promise<boolean> {
  const health = (await controlOf(one).control('health')) as unknown as Health
  if (pick(health.findings, code) !== undefined) return false
  assert.equal(pick(await one.doctor(), code), undefined, 'doctor')
  assert.equal(pick(((await probe(one)).findings ?? []) as HealthFinding[], code), undefined, 'readyz')
  assert.ok(!(await scraped(one)).includes(`code="${code}"`), 'metrics')
  return true
}

/** Resolves once this holds. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it never came to be: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

function controlOf({ gateway }: Seen): { control(verb: string): Promise<JsonObject> } {
  return { control: verb => gateway.gateway.control(verb) }
}

function pick(findings: readonly HealthFinding[] | undefined, code: string): HealthFinding | undefined {
  return findings?.find(finding => finding.code === code)
}

async function probe({ gateway, headers }: Seen): Promise<JsonObject> {
  return (await (await fetch(new URL('/readyz', gateway.url), { headers })).json()) as JsonObject
}

async function scraped({ gateway, headers }: Seen): Promise<string> {
  const reply = await fetch(new URL('/metrics', gateway.url), { headers })
  assert.equal(reply.status, 200)
  return reply.text()
}
