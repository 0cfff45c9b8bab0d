import { afterAll, expect, test } from 'vitest';
import { type Api, chrome, createWebsite, logIn, unique } from '../api-client.ts';
import { accepted, loggedEvents, post } from '../collector.ts';
import { startMeridian } from '../meridian.ts';

const meridian = await startMeridian();
const api = `${meridian.origin}/api`;
const admin = await logIn(api, 'admin', meridian.password);
afterAll(() => meridian.stop());

async function newAccount(): Promise<Api & { id: string }> {
  const [username, password] = [unique('user'), 'long enough'];
  const { id } = await admin.ok<{ id: string }>('POST', '/users', { username, password, role: 'user' });
  return { id, ...(await logIn(api, username, password)) };
}

async function newTeam(owner: Api): Promise<{ id: string; accessCode: string }> {
  const [team] = await owner.ok<[{ id: string; accessCode: string }]>('POST', '/teams', { name: unique('team') });
  return team;
}

const send = (website: string, url: string) =>
  post(`${api}/send`, { 'user-agent': chrome }, { type: 'event', payload: { website, url, hostname: 'shop.example' } });

test('a website that goes to a team and back while events come in loses none of them, and all members see them', async () => {
  const [owner, joiner] = [await newAccount(), await newAccount()];
  const [website, team] = [await createWebsite(owner), await newTeam(owner)];
  await joiner.ok('POST', '/teams/join', { accessCode: team.accessCode });
  const sent: string[] = [];
  async function sendSome(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      const url = `/${sent.length}`;
      sent.push(url);
      accepted(await send(website.id, url));
    }
  }
  const give = (body: object) => owner.ok('POST', `/websites/${website.id}/transfer`, body);
  await sendSome();
  await Promise.all([sendSome(), give({ teamId: team.id })]);
  await Promise.all([sendSome(), give({ userId: owner.id })]);
  await Promise.all([sendSome(), give({ teamId: team.id })]);
  for (const reader of [owner, joiner]) {
    const events = await loggedEvents(reader, website.id, sent.length);
    expect(events.map(({ urlPath }) => urlPath).sort()).toEqual([...sent].sort());
  }
});
