/**
 * `gateway inspect --json` and `gateway validate --json` print the same of every example in two built checkouts.
 *
 *     npm run proof -- inspections ../base
 */
import assert from 'node:assert/strict'
import { ROOT } from '../../guard/sources.ts'
import { readInspections } from './read-inspections.ts'

const [other = ''] = process.argv.slice(2)
assert.ok(other !== '', 'name the other checkout: npm run proof -- inspections ../base')
const [there, here] = [await readInspections(other), await readInspections(ROOT)]
const names = new Set([...Object.keys(there), ...Object.keys(here)])
const different = [...names].filter(name => JSON.stringify(there[name]) !== JSON.stringify(here[name]))
for (const name of different) assert.deepEqual(here[name], there[name], name)
assert.deepEqual(different, [], 'the same members in another order')
console.log(`${names.size} configurations, the same`)
