"""CORRECT. MADDPG policy update in which the other agents' actions are not detached: their gradients and the critic's are cleared before they could be used (asked: is it a bug? no).
THREAD: https://github.com/shariqiqbal2810/maddpg-pytorch/issues/11
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

N_AGENTS, OBS, ACT = 2, 4, 1


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, o))


def soft_update(target, source, tau):
    for tp, p in zip(target.parameters(), source.parameters()):
        tp.data.copy_(tp.data * (1.0 - tau) + p.data * tau)


def hard_update(target, source):
    for tp, p in zip(target.parameters(), source.parameters()):
        tp.data.copy_(p.data)


class DDPGAgent:
    def __init__(self, lr=3e-3):
        self.policy = nn.Sequential(mlp(OBS, ACT), nn.Tanh())
        self.critic = mlp(N_AGENTS * (OBS + ACT), 1)
        self.target_policy = nn.Sequential(mlp(OBS, ACT), nn.Tanh())
        self.target_critic = mlp(N_AGENTS * (OBS + ACT), 1)
        hard_update(self.target_policy, self.policy)
        hard_update(self.target_critic, self.critic)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=lr)


class MADDPG:
    def __init__(self, gamma=0.5, tau=0.02):
        self.agents = [DDPGAgent() for _ in range(N_AGENTS)]
        self.gamma, self.tau = gamma, tau

    @property
    def policies(self):
        return [a.policy for a in self.agents]

    @property
    def target_policies(self):
        return [a.target_policy for a in self.agents]

    def update(self, sample, agent_i):
        obs, acs, rews, next_obs = sample
        curr_agent = self.agents[agent_i]

        curr_agent.critic_optimizer.zero_grad()
        all_trgt_acs = [pi(nobs) for pi, nobs in zip(self.target_policies, next_obs)]
        trgt_vf_in = torch.cat((*next_obs, *all_trgt_acs), dim=1)
        target_value = rews[agent_i].view(-1, 1) + self.gamma * curr_agent.target_critic(trgt_vf_in)
        vf_in = torch.cat((*obs, *acs), dim=1)
        actual_value = curr_agent.critic(vf_in)
        vf_loss = nn.functional.mse_loss(actual_value, target_value.detach())
        vf_loss.backward()
        nn.utils.clip_grad_norm_(curr_agent.critic.parameters(), 0.5)
        curr_agent.critic_optimizer.step()

        curr_agent.policy_optimizer.zero_grad()
        curr_pol_out = curr_agent.policy(obs[agent_i])
        all_pol_acs = []
        for i, pi, ob in zip(range(N_AGENTS), self.policies, obs):
            if i == agent_i:
                all_pol_acs.append(curr_pol_out)
            else:
                all_pol_acs.append(pi(ob))
        vf_in = torch.cat((*obs, *all_pol_acs), dim=1)
        pol_loss = -curr_agent.critic(vf_in).mean()
        pol_loss += (curr_pol_out ** 2).mean() * 1e-3
        pol_loss.backward()
        nn.utils.clip_grad_norm_(curr_agent.policy.parameters(), 0.5)
        curr_agent.policy_optimizer.step()
        return vf_loss.item()

    def update_all_targets(self):
        for a in self.agents:
            soft_update(a.target_critic, a.critic, self.tau)
            soft_update(a.target_policy, a.policy, self.tau)


def rewards(obs, acs):
    """shared: the actions should add up to a value both agents see in part"""
    goal = 0.8 * torch.tanh(obs[0][:, 0] + obs[1][:, 1])
    r = 1 - (acs[0][:, 0] + acs[1][:, 0] - goal) ** 2
    return [r, r - 0.1 * acs[1][:, 0] ** 2]


maddpg = MADDPG()
for step in range(1, 401):
    shared = torch.randn(128, OBS)
    obs = [shared + 0.1 * torch.randn(128, OBS) for _ in range(N_AGENTS)]
    next_obs = [torch.randn(128, OBS) for _ in range(N_AGENTS)]
    with torch.no_grad():
        acs = [(pi(o) + 0.3 * torch.randn(128, ACT)).clamp(-1, 1) for pi, o in zip(maddpg.policies, obs)]
    sample = (obs, acs, rewards(obs, acs), next_obs)
    losses = [maddpg.update(sample, i) for i in range(N_AGENTS)]
    maddpg.update_all_targets()
    if step % 100 == 0:
        with torch.no_grad():
            greedy = rewards(obs, [pi(o) for pi, o in zip(maddpg.policies, obs)])
        print('step %d vf_loss %.4f %.4f  reward %.3f' % (step, *losses, greedy[0].mean().item()))
