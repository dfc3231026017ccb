import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway } from '../../src/testing/index.ts'
import { serveSkills } from '../fixtures/servers/skill-server.ts'
import { runScenario } from './suite.ts'

const SCENARIOS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory']

for (const version of ['2025-11-25', '2026-07-28'])
  test(`two servers with skills pass the scenarios for skills behind the gateway (${version})`, async t => {
    const offer = (name: string) => ({
      [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Work with ${name}.\n---\nSee [steps](references/steps.md).\n`,
      [`${name}/references/steps.md`]: 'Steps.',
    })
    const upstreams = {
      crm: { url: await serveSkills(t, 'crm', offer('refunds')) },
      shop: { url: await serveSkills(t, 'shop', offer('orders')) },
    }
    const { url } = closeAfter(t, await testGateway({ upstreams }))
    for (const scenario of SCENARIOS) {
      const { ok, output } = await runScenario(url, scenario, version)
      assert.ok(ok, output)
      assert.match(output, / 0 failed, 0 warnings/)
    }
  })
