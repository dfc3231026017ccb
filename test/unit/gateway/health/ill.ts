import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import {
  closeAfter,
  testGateway,
  testUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../../../src/testing/index.ts'

/** A gateway that has something, and what its owner does about it, as the finding says. */
export interface Ill {
  readonly gateway: TestGateway
  readonly headers?: Readonly<Record<string, string>>
  cure(): Promise<unknown>
}

/** A finding, and how a gateway comes to have it. */
export interface Case {
  readonly level: 'info' | 'warning' | 'error'
  /** Parts of what is said to be done. */
  readonly fix: RegExp
  readonly needsRedis?: true
  make(t: TestContext): Promise<Ill>
}

export const METRICS = { metrics: {} }
const tools = { run: () => 'ran' }

/** A server that is well. */
export function web(t: TestContext, more: object = {}): Promise<TestUpstream> {
  return testUpstream({ tools, ...more }).then(made => closeAfter(t, made))
}

/** A gateway whose figures can be read. */
export async function gatewayOf(
  t: TestContext,
  config: JsonObject,
  more: Parameters<typeof testGateway>[0] = {},
): Promise<TestGateway> {
  return closeAfter(t, await testGateway({ config: { ...METRICS, ...config }, ...more }))
}
