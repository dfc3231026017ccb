// Bad tokens and a canary. `npm run proof -- access [calls]`; prints its figures.
import { testGateway } from '../../src/testing/index.ts'
import { badTokens } from './access/bad-tokens.ts'
import { canary } from './access/canary.ts'
import { startIssuer } from './access/issuer.ts'

const MOST_MS = 120_000
const RESOURCE = 'https://gateway.example/mcp'
const [calls = 1000] = process.argv.slice(2).map(Number)
const failures: string[] = []

const over = setTimeout(() => {
  console.error(`not done within ${MOST_MS / 1000} s`)
  process.exit(1)
}, MOST_MS)

await tokens()
await secrets()
clearTimeout(over)
console.log(failures.length === 0 ? 'all as it should be' : failures.join('\n'))
process.exitCode = failures.length === 0 ? 0 : 1

function expect(isTrue: boolean, what: string): void {
  if (!isTrue) failures.push(`FAILED: ${what}`)
}

async function tokens(): Promise<void> {
  const issuer = await startIssuer()
  const auth = { jwt: [{ issuer: issuer.url, jwks: issuer.jwks }], resource: RESOURCE }
  const gateway = await testGateway({ config: { auth } })
  const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(gateway.url, { method: 'POST', headers })).status
  const good = await status({ authorization: `Bearer ${await issuer.sign(RESOURCE)}` })
  const bad = await badTokens(issuer, RESOURCE)
  const rows = await Promise.all(bad.map(async ({ why, headers }) => ({ why, status: await status(headers) })))
  await gateway[Symbol.asyncDispose]()
  await issuer.close()
  console.log(`${bad.length} bad credentials; the good one: ${good}`)
  console.table(rows)
  expect(good !== 401, 'the good token opens the door')
  expect(bad.length >= 40 && rows.every(row => row.status === 401), 'every bad token is 401')
}

async function secrets(): Promise<void> {
  const { answered, places } = await canary(calls)
  console.log(`${answered} of ${calls} calls answered; credentials found afterwards:`)
  console.table(places)
  expect(answered === calls, 'every call is answered')
  expect(
    Object.values(places).every(({ bytes, found }) => bytes > 0 && found === 0),
    'no credential is found',
  )
}
